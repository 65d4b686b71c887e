"""The batch endpoints there are."""

from budget.jobs.batches.anthropic import AnthropicBatches
from budget.jobs.batches.endpoint import Endpoint
from budget.jobs.batches.openai import OpenAIBatches
from budget.jobs.clients import Unsupported, client_of
from budget.models import Pool

ENDPOINTS: dict[str, type[Endpoint]] = {
    "anthropic": AnthropicBatches,
    "openai": OpenAIBatches,
}


def endpoint_of(pool: Pool) -> Endpoint:
    """That of a pool's provider. Raises Unsupported, NotConfigured."""
    if pool.provider not in ENDPOINTS:
        raise Unsupported(f"There is no batch endpoint here for the provider {pool.provider!r}.")
    return ENDPOINTS[pool.provider](client_of(pool))
