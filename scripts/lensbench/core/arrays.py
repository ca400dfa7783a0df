"""The types of numpy arrays. Imported only for type checking where numpy is loaded late."""

import numpy as np

Floats = np.typing.NDArray[np.float64]
Ints = np.typing.NDArray[np.int64]
