"""The watchers of a trace: each listens to a launch and keeps what it saw.

counting         requests, wavefronts, sectors per access
races/           cells that several threads touch with nothing between that orders them
copies           asynchronous copies: what happens before they have arrived
initialisation   reads before any write
barriers         barriers that some threads miss; lanes of a warp that do not fit together
bounds           indices past the end of an axis, and index arithmetic that wraps
orders           barriers that order nothing
"""
