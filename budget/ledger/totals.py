"""All that a class ever did on a pool, exact to the last commit."""

from budget.ledger.clock import micros
from budget.ledger.tally import ClassTally
from budget.ledger.usage_columns import COUNTS, MEASURED
from budget.ledger.view import View
from budget.models import UsageTotal


def totals(pool_id: int, view: View) -> dict[str, ClassTally]:
    """By class what was counted since the pool was made; see `services.usage_totals`.

    The view was taken before: a minute that closed since then is in the stored totals, and
    not added once more.
    """
    opened = view.balances.minute
    found = {}
    for row in UsageTotal.objects.filter(pool_id=pool_id):
        total = ClassTally(
            shed=dict(row.shed),
            would_shed=dict(row.would_shed),
            **{name: getattr(row, name) for name in (*COUNTS, *MEASURED)},
        )
        if micros(row.minute) < opened.start:
            total.add(opened.classes.get(row.workload_class) or ClassTally())
        found[row.workload_class] = total
    fresh = {member.slug: ClassTally() for member in view.terms.classes} | opened.classes
    return fresh | found
