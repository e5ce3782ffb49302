"""What decides whether a call of an agent may be made: approvals, votes, policies, grants, stops, and who is told."""
