"""Content and tokens in the shapes of the model APIs, for every format that passes them on."""
