"""The contestants in plain NumPy, Numba and ctypes."""
