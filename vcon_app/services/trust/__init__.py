"""Trust: anchors of a workspace, the key of this installation, and the signatures of documents."""
