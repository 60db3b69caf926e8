"""The watchers of a trace: each listens to a launch and keeps what it saw.

counting         requests, wavefronts, sectors per access
races            cells that several threads touch with no barrier between; pairs in `race_pairs`
initialisation   reads before any write
barriers         barriers that some threads miss
bounds           indices past the end of an axis
"""
