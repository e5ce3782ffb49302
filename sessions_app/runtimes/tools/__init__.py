"""Tools of agents that run here: what a definition says of them, what the model is offered, how a call runs."""
