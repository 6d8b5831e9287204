"""Simulated annotators with a set accuracy, bias, speed and laziness: for tests, tutorials and power analysis.

script     what an annotator asks the service for, step by step, whoever carries the requests; and all of them at once
"""
