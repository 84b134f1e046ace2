"""The product for agents, over the Model Context Protocol. A client of the HTTP API only: it uses no database, and has
the rights of its token."""
