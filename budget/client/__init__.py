"""What callers import: no Django, nothing else of the app.

- `workload`: says what work the calls made in a block belong to, and until when.
- `BudgetTransport`, `AsyncBudgetTransport`: keep the budget on the calls of an official SDK.
- `Budget`, `AsyncBudget`: for calls that are made otherwise.
- `Service`: the gate to a service, for its time limits and for `close`.
"""

from budget.client.budget import AsyncBudget, Budget, Denied, NotAdmitted, OpenCall, Shed
from budget.client.carried import Workload, current
from budget.client.service import Service
from budget.client.transport import AsyncBudgetTransport, BudgetTransport
from budget.client.workload import workload

__all__ = [
    "AsyncBudget",
    "AsyncBudgetTransport",
    "Budget",
    "BudgetTransport",
    "Denied",
    "NotAdmitted",
    "OpenCall",
    "Service",
    "Shed",
    "Workload",
    "current",
    "workload",
]
