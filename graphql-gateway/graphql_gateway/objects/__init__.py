"""The objects of the graph, and what all of them have: identifiers, pages, what a query asks of them."""
