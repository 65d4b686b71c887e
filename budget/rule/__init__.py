"""The rule: who may draw on a shared allowance now, and when the others may come back.

Pure: no Django, no clock, no I/O. Every verb takes the policy (`terms.PoolTerms`), the
state (`pool.PoolState`) and a moment; the live ledger and anything that runs in virtual
time go through the same `admission.offer` and `pool.settle`.

**The problem.** A pool has limits: token buckets, sliding windows, gauges. Classes are
ordered by deadline. The strictest must find its floor free whenever it calls; nobody may
be refused while there is room that no stricter class is promised; and the loosest must
be refused first.

**Floors are stock.** On a bucket of capacity B and rate r, class j's floor of share f is
a credit that holds at most f·B and refills at f·r. While j idles its credit stays full
and *all* refill passes to whoever wants it, so a floor costs others a part of the stock
and none of the flow. The level obeys dA/dt = r, and A = U + ΣP, the unreserved part plus
the credits. Credits refill at share × rate until U is full; from then on they take all
refill. If they did not, U would outgrow (1 − Σf)·B while credits still fill, and shrink
again, with nobody calling, once the level is full: what looser classes may use would
fall by mere waiting, and no Retry-After could be honest. With it, A = B exactly when
every credit and U are full. On a window or gauge there is no flow to pass on: a floor is
what its owner has not used of f × amount, and an idle floor is idle capacity.

**Floors never promise more than there is.** After an overrun A can be smaller than ΣP.
Tier by tier from the strictest, floors are scaled to what is left: these are the
effective floors E, and ΣE ≤ max(0, A).

**The inequality.** Class c must leave alone Q(c), the effective floors of the others as
c meets them: whole where j is of c's tier or stricter, and of looser ones only the part
1 − lendable(j), taken off P before the scaling. (Taken off E, which shrinks as others
borrow, the part that is not lent would be borrowed away bit by bit.) A call of
cost k is admitted iff on every limit it touches k ≤ E(c), or k ≤ A − Q(c) − headroom.
Headroom, a part of the unreserved capacity, counts only while a stricter class is at
work, and must not fall with looseness; so as a pool drains, bulk is refused first, then
near-line, then interactive. Ceilings and yielding only ever refuse more.

**Why a floor holds.** Let T be a tier and R(T) what stricter tiers leave. Any admitted
call of another class is charged at most A − Q, and Q contains all effective floors of
stricter tiers, so those still fit into A afterwards; a class that draws on its own floor
lowers A and its own P alike. Hence without overruns the strictest tier's effective
floors equal its unspent ones at all times, and a class is always admitted within its
effective floor.

**Why waiting is monotone.** While nothing arrives A grows at least as fast as any sum of
floors grows, so k ≤ E(c) and k ≤ A − Q(c), once true, stay true, and the earliest moment
that satisfies all limits is the latest of the limits' own earliest moments. That is what
`retry_after` searches, after setting aside what callers with an earlier promise will take.

**Bounds.** *Buckets:* what is charged, net of refunds, in any span t is at most B + r·t.
*Windows:* charges are kept in 60 slots and one counts until it is wholly outside, so in
any window at most the amount is charged, and a class alone reaches 60/61 of it.
*Refunds:* a refund is what the bucket could have kept had the
real cost been charged at once, jointly over all leases; after a long drain, when more
rooms stand than a meter keeps, it may be less by about a fiftieth of their span, never
more. *Overruns* break the bounds by their own size and become debt. *Comparison* allows
10⁻⁶ of a unit, because levels are floats. *Retry-After* is exact on buckets and windows
when no promises are outstanding; with promises a moment may be early where several limits
bind in turn; on gauges it is an estimate from learned call times.
"""
