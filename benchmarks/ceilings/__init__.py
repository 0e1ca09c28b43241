"""Hand-written programs that do the least the same job allows: what the machine and the libraries can give at best.

None of them is a product. They have no settings, no lanes but the barest, no health, no logs; they are the measure.
"""
