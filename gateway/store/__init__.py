"""What outlives a restart: the engines behind core/store.py, and the read models that operators see.

An engine is imported by name where it is composed (`gateway.store.sqlite`), so that a driver which the configuration
does not use is never loaded; `gateway.store.rules` holds what every engine decides in the same way.
"""
