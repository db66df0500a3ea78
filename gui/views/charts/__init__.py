"""Four live charts over one time axis: what the flow is doing, and what it costs in memory.

They know records only: `panel` is given samples, holds and limits, four or five times a second, and draws at most
300 points a curve.
"""

from gui.views.charts.panel import ChartPanel

__all__ = ["ChartPanel"]
