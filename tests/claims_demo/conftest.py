"""The claims platform on a provider that does as tests say, and who looks at it."""

import pytest
from django.contrib.auth.models import User
from django.test import Client

from claims_demo.models import Claim
from tests.claims_demo.world import make_claim, put_policy_into_force
from tests.jobs.conftest import keys, provider
from tests.jobs.provider import Provider

__all__ = ["keys", "provider"]


@pytest.fixture
def platform(committed: None, provider: Provider) -> Provider:
    """The demo's policy is in force; what its calls go to."""
    put_policy_into_force(provider.url)
    return provider


@pytest.fixture
def claim(platform: Provider) -> Claim:
    """One to ask about."""
    return make_claim()


@pytest.fixture
def member(platform: Provider) -> Client:
    """An adjuster: logged in, without any rights."""
    client = Client(headers={"Accept": "application/json"})
    client.force_login(User.objects.create_user("ada"))
    return client
