"""What readers of coding agents share: pieces of a message, and a reading that tells messages as events."""
