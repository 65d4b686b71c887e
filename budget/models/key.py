"""Who may call the REST API, and as what."""

from typing import Any, ClassVar

from django.db import models
from rest_framework_api_key.models import AbstractAPIKey, APIKeyManager

from budget.models.history import remember
from budget.models.pool import Pool
from budget.models.workload import WorkloadClass


class ApiKeyManager(APIKeyManager):
    """Makes keys whose id is their prefix.

    The library's ids contain the hash, which would then stand in addresses of the admin
    and for ever in the history. Nothing reads an id's parts; the prefix is unique anyway.
    """

    def assign_key(self, obj: AbstractAPIKey) -> str:
        """Give the unsaved row its id, prefix and hash. Returns the key."""
        key = super().assign_key(obj)
        obj.id = obj.prefix
        return key


@remember(exclude=["hashed_key"])
class ApiKey(AbstractAPIKey):
    """A caller's key, bound to workload classes and pools.

    The key itself is shown once. Only its hash is stored, in this table alone.
    """

    objects: ClassVar[APIKeyManager] = ApiKeyManager()

    all_classes = models.BooleanField(
        default=True, help_text="May tag its calls with any workload class. Example: on."
    )
    classes = models.ManyToManyField(
        WorkloadClass,
        blank=True,
        help_text="The classes it may use when not all. Example: rescore.",
    )
    all_pools = models.BooleanField(default=True, help_text="May call any pool. Example: on.")
    pools = models.ManyToManyField(
        Pool, blank=True, help_text="The pools it may call when not all. Example: claims."
    )

    class Meta(AbstractAPIKey.Meta):
        verbose_name = "API key"
        verbose_name_plural = "API keys"


@remember()
class ApiKeyClass(ApiKey.classes.through):  # type: ignore[name-defined]
    """One class a key is bound to; a proxy that lets the binding be remembered."""

    class Meta:
        proxy = True

    def __str__(self) -> str:
        return self.workloadclass.slug


@remember()
class ApiKeyPool(ApiKey.pools.through):  # type: ignore[name-defined]
    """One pool a key is bound to; a proxy that lets the binding be remembered."""

    class Meta:
        proxy = True

    def __str__(self) -> str:
        return self.pool.slug


def _right(row: Any) -> str:
    bound = getattr(row, "pool", None) or getattr(row, "workloadclass", None)
    return f"{row.apikey.name} to {bound}"


for _binding in (ApiKey.classes.through, ApiKey.pools.through):
    _binding.__str__ = _right  # type: ignore[method-assign]
    _binding._meta.verbose_name = "right of an API key"
    _binding._meta.verbose_name_plural = "rights of API keys"
