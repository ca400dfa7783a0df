"""Numbers: scores, pairs, measures, intervals, power, gate."""
