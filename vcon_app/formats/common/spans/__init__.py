"""What traces of requests to models have in common, whoever recorded them: messages, a tree, repeated histories."""
