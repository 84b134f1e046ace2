"""The product for agents, over the Model Context Protocol. It is a client of the HTTP API and nothing more: it knows no
table, and its rights are those of the token that it is given."""
