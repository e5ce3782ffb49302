"""Who is told of an approval: members by mail and in browsers, other programs by webhooks."""
