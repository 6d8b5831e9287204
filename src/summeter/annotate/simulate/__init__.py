"""Made annotators with a set accuracy, bias, speed and laziness: for tests, tutorials and power analysis.

truth      what is right for each task: gold judgments, or a hidden truth made from a seed
profile    how one made annotator answers
script     what an annotator asks the desk for, step by step, whoever carries the requests
drive      the steps taken straight at the desk
network    the same steps over HTTP, as people take them, with requests and replies that get lost
"""
