"""The folder `mesh/` has the name of the package inside it: imported first, the package is not taken for the folder."""

import mesh  # noqa: F401
