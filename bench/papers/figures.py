"""The figures that the papers print, for the columns beside ours. None of them is ours."""

# Velodrome (PLDI 2008), table 1. Slowdowns: empty, Eraser, Atomizer, Velodrome. Nodes: allocated and alive without
# merge, allocated and alive with merge. raja and webl are left out: we do not have these programs.
VELODROME_1 = {
    "elevator": (5.64, 1.1, 1.1, 1.1, 1.1, "174,000", "20", "170,000", "13"),
    "hedc": (0.21, 6.2, 6.0, 5.9, 6.3, "79", "37", "58", "4"),
    "tsp": (0.46, 30.9, 50.9, 60.2, 71.7, ">1,000,000", "8", "12,000", "1"),
    "sor": (0.34, 2.3, 2.3, 2.4, 2.9, "2,000", "2", "2", "2"),
    "jbb": (9.84, 2.9, 3.2, 3.4, 3.1, "21,000", "9", "14,000", "13"),
    "mtrt": (0.85, 9.3, 14.3, 22.4, 18.3, "645,000", "5", "645,000", "5"),
    "moldyn": (0.77, 3.8, 4.0, 4.1, 4.5, "5", "4", "5", "4"),
    "montecarlo": (1.70, 1.6, 1.7, 1.7, 1.7, "410,000", "4", "300,000", "4"),
    "raytracer": (2.00, 4.5, 6.7, 9.4, 9.2, "128", "8", "23", "8"),
    "colt": (16.40, 1.2, 1.2, 1.2, 1.2, "113", "11", "58", "19"),
    "philo": (2.71, 1.0, 1.0, 1.2, 1.2, "34", "5", "34", "5"),
    "multiset": (0.10, 4.0, 4.4, 4.7, 10.0, "218,000", "8", "8", "8"),
    "jigsaw": (8.2, 1.1, 1.1, 1.1, 1.1, "123,000", "99", "36,600", "17"),
}
# Not compute-bound, as the paper says.
VELODROME_IDLE = ("elevator", "hedc", "philo", "jigsaw")

# Velodrome, table 2: Atomizer's warnings (not serial, false alarms), Velodrome's (not serial, false alarms, missed).
VELODROME_2 = {
    "elevator": (5, 1, 5, 0, 0),
    "hedc": (6, 2, 6, 0, 0),
    "tsp": (8, 0, 8, 0, 0),
    "sor": (3, 0, 3, 0, 0),
    "jbb": (5, 42, 5, 0, 0),
    "mtrt": (2, 27, 2, 0, 0),
    "moldyn": (4, 0, 4, 0, 0),
    "montecarlo": (6, 0, 6, 0, 0),
    "raytracer": (2, 3, 1, 0, 1),
    "colt": (27, 2, 20, 0, 7),
    "philo": (2, 0, 2, 0, 0),
    "multiset": (5, 0, 5, 0, 0),
    "jigsaw": (55, 5, 44, 0, 11),
}
VELODROME_2_TOTAL = (154, 84, 133, 0, 21)  # with raja and webl
VELODROME_BLAME = "over 80 %"
INJECTED = ("30 %", "70 %")  # plain, adversarial; elevator and colt

# The talk (2005): totals over its twelve programs. The digits of its table by program are lost in the copy that we
# have. (bugs, benign violations, false alarms, what it says about misses; median slowdown)
TALK = {
    "atomizer": (11, 9, 9, "1 bug and several benign violations", 3),
    "reduction": (12, 13, 28, "", 17),
    "blocks": (12, 13, 0, "", 35),
}
TALK_TYPES = (("annotations found by discovery", "98 %"), ("methods shown to be atomic", "91 % (640 of 701)"))

# Commit nodes (PPoPP 2006), table 1: base time, then time, report and space of commit nodes, reduction, blocks.
COMMIT = {
    "elevator": ("0.2s", "0.4s", "0-2-0", 342, "0.5s", "0-2-0", 184, "0.6s", "0-2-0", 108),
    "tsp": ("0.24s", "40.0s", "0-2-0", 3015, "32.5s", "0-2-0", 530, "8m59s", "0-2-0", 13474),
    "sor": ("0.47s", "52.4s", "0-0-0", 90, "53.3s", "0-0-0", 64, "1m4.1s", "0-0-0", 3056),
    "hedc": ("0.6s", "1.0s", "0-0-0", 892, "1.0s", "0-0-1", 349, "2.1s", "0-0-0", 1085),
    "moldyn": ("44.03s", "34m26s", "0-0-0", 3819, "38m22.1s", "0-0-0", 810, "28m54.6s", "0-0-0", 132),
    "montecarlo": ("15.85s", "7m43s", "0-0-0", 148, "8m10.1s", "0-0-0", 79, "8m11.4s", "0-0-0", 159),
    "raytracer": ("14.34s", "10m50s", "2-0-0", 106, "11m58.9s", "2-0-0", 26, "36m17.6s", "2-0-0", 39),
    "jigsaw": ("1.60s", "3.4s", "1-3-0", 4031, "2.74s", "1-3-1", 2012, "8m25.4s", "1-3-0", 17254),
}
JDK = {  # the same table: reduction, blocks, commit nodes
    "StringBuffer": ("0-1-0", "0-1-0", "0-1-0"),
    "Vector": ("4-4-10", "4-4-0", "4-4-0"),
    "Hashtable": ("0-4-1", "0-4-0", "0-4-0"),
    "Stack": ("3-4-12", "3-4-0", "3-4-0"),
}

# Prediction (CAV 2009), table 1: program, threads, entities, locks, events, transactions, time, violations of the
# pattern WRW, and of the others.
CAV09 = (
    ("elevator", 3, 32, 8, "9K", 140, "0.09s", 0, 4),
    ("elevator", 5, 32, 8, "29K", 423, "0.27s", 0, 4),
    ("elevator", 5, 200, 50, "78K", 273, "26.23s", 8, 12),
    ("raytracer", 10, 1, 10, "86", 10, "0.03s", 0, 90),
    ("raytracer", 20, 1, 20, "160", 20, "0.02s", 0, 380),
    ("raytracer", 40, 1, 40, "320", 40, "0.16s", 0, 1560),
    ("hedc", 10, 6, 2, "176", 10, "0.03s", 20, 4),
    ("hedc", 10, 6, 2, "132", 10, "0.03s", 12, 5),
    ("tsp", 3, 30, 2, "97", 5, "0.03s", 0, 0),
    ("tsp", 8, 50, 2, "18K", 10, "0.53s", 0, 0),
    ("tsp", 5, 140, 2, "1.4M", 17, "1.55s", 16, 248),
    ("tsp", 10, 140, 2, "2.5M", 31, "2.51s", 36, 339),
    ("tsp", 20, 1510, 2, "11M", 106, "12.58s", 171, 1609),
    ("Stack", 2, 4, 2, "105", 2, "0.07s", 0, 194),
    ("Vector", 2, 4, 2, "107", 2, "0.08s", 0, 144),
)

# DoubleChecker (PLDI 2014), table 2: violations found by Velodrome (and not by single-run mode), by single-run mode, by
# multi-run mode (and not by single-run mode).
DOUBLECHECKER_2 = {
    "elevator": (2, 0, 2, 2, 0),
    "hedc": (3, 1, 3, 2, 0),
    "philo": (0, 0, 0, 0, 0),
    "sor": (0, 0, 0, 0, 0),
    "tsp": (7, 0, 7, 7, 0),
    "moldyn": (0, 0, 0, 0, 0),
    "montecarlo": (2, 0, 2, 2, 0),
    "raytracer": (0, 0, 0, 0, 0),
}
# Table 3: single-run mode: transactions, accesses in them, accesses outside, edges, components; then the second run.
DOUBLECHECKER_3 = {
    "elevator": ("3,200", "17,000", "5,590", "419", "24", "3,180", "16,100", "5,590", "427", "23"),
    "hedc": ("79", "38,400", "114", "83", "3", "25", "37,200", "114", "85", "3"),
    "philo": ("6", "16", "458", "144", "0", "0", "0", "0", "0", "0"),
    "sor": ("2", "16", "18,700", "189", "0", "0", "0", "0", "0", "0"),
    "tsp": ("12,000", "386,000", "694,000,000", "14,100", "0", "1,340", "6,650", "691,000,000", "11,500", "0"),
    "moldyn": ("573,000", "194,000,000", "50,500,000", "38", "0", "0", "0", "0", "0", "0"),
    "montecarlo": ("102,000", "179,000,000", "93,300,000", "30,600", "2,860", "89,700", "145,000,000", "108,000,000",
                   "30,800", "2,730"),
    "raytracer": ("25,700", "890,000,000", "108,000,000", "215", "1", "4", "113", "0", "9", "1"),
}
# Figure 7, as its text gives it: Velodrome, single-run, first run, second run, over all its programs.
DOUBLECHECKER_7 = (6.1, 3.6, 1.9, 2.4)
