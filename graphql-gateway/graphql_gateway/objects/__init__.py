"""The objects of the graph, and what all of them share: identifiers, pages, and analysis of the query's selections."""
