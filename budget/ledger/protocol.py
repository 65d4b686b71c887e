"""Everything that can be put to the ledger, and everything it answers."""

from budget.ledger.job_operations import JobAnswer, JobOperation
from budget.ledger.operations import (
    Admission,
    Admit,
    Excuse,
    Excused,
    Observe,
    Observed,
    Renew,
    Renewed,
    RenewedMany,
    RenewMany,
    Settle,
    Settled,
)

Operation = Admit | Settle | Renew | RenewMany | Observe | Excuse | JobOperation
Answer = Admission | Settled | Renewed | RenewedMany | Observed | Excused | JobAnswer
