"""What looks like a secret is masked; what a reviewer must see is not."""

from __future__ import annotations

import pytest

from sessions_app.rendering import masking

LONG = "a1B2c3D4e5F6g7H8i9J0k1L2"


@pytest.mark.parametrize(
    "text",
    [
        f"sk-{LONG}",
        f"sk-ant-{LONG}",
        f"Authorization: Bearer {LONG}",
        f'"api_key": "{LONG}"',
        f"API-KEY={LONG}",
        f"apikey: {LONG}",
    ],
)
def test_secrets_are_masked_and_counted(text: str) -> None:
    masked, count = masking.mask(f"before {text} after")
    assert LONG not in masked
    assert masked.startswith("before ")
    assert masked.endswith(" after")
    assert count == 1


@pytest.mark.parametrize(
    "text",
    [
        "the bearer of this letter",
        "task-runner-for-the-quick-brown-fox",
        "set api_key in the settings",
        "sk-short",
        "ask-me-anything-about-the-thing-now",
        "e3b0c44298fc1c149afbf4c8996fb92427ae41e4",
    ],
)
def test_other_text_is_left_alone(text: str) -> None:
    assert masking.mask(text) == (text, 0)


def test_a_key_of_that_name_holds_a_secret() -> None:
    assert all(map(masking.names_secret, ("api_key", "apiKey", "API-KEY", "x-api-key")))
    assert not any(map(masking.names_secret, ("key", "keys", "api_keys_used", "monkey")))
