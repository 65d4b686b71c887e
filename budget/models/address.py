"""Where a provider is reached: an address that its API key is sent to."""

import re

from django.core.exceptions import ValidationError

from budget import conf

ADDRESS = re.compile(
    r"https?://(?P<host>[a-z0-9._-]+|\[[0-9a-f:.]+\])(:[0-9]{1,5})?(/[a-z0-9._~%/-]*)?",
    re.ASCII | re.IGNORECASE,
)


def provider_address(address: str) -> None:
    """Refuse what is no plain address, or a host that the operator didn't allow.

    Plain: nothing that two readers of addresses could understand differently.
    """
    plain = ADDRESS.fullmatch(address)
    if plain is None:
        raise ValidationError(
            "Write scheme, host and path alone, such as https://llm-gateway.internal/v1: "
            "no user, password, query or fragment."
        )
    hosts, host = conf.provider_hosts(), plain["host"].lower()
    if hosts is not None and host not in hosts:
        allowed = ", ".join(sorted(hosts)) or "none, so leave it empty"
        raise ValidationError(
            "The provider's API key may not be sent to %(host)s. Allowed by "
            "BUDGET_PROVIDER_HOSTS: %(allowed)s.",
            params={"host": host, "allowed": allowed},
        )
