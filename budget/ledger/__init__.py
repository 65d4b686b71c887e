"""The only writer of balances.

An operation (`operations`) becomes a `submission`, waits in the queue of its pool's
`writer` (one per process, found by `writers`), and is decided with all that waits in one
transaction of the writer's `session`. `store` reads and writes with the SQL of `queries`.
`batch`, `admitting` and `settling` decide in memory, through `budget.rule`, on `balances`;
`tally` counts the open minute. `view`, `usage` and `calls` look without a lock; `rerun`
decides once more, `pruning` forgets.
"""
