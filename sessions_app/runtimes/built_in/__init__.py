"""The assistant of the desk: it answers people's questions about agents, from tools that only read."""
