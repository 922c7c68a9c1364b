"""The demo: a month of messy orders and ten rules for them, shipped with the package, and the command that shows them.

`orders.csv` is written by scripts/make_demo_data.py, which lists every error that was planted in it.
"""
