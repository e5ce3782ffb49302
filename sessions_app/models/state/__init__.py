"""What agents keep between their steps: values with versions, of a session, a user or an agent."""
