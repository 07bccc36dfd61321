"""Types. `ndt.type("strided * var * float64")` reads datashape text; the scalar types are here by name."""
from dynd import _dynd
from dynd._dynd import type

globals().update(_dynd.scalar_types)

__all__ = ["type", *_dynd.scalar_types]
