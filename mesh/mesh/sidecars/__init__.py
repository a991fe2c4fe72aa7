"""The mesh: a proxy next to each component, through which all of the component's traffic passes."""
