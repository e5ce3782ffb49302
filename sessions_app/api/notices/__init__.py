"""Who is told of approvals: outgoing webhooks."""
