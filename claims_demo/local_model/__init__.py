"""A provider on this machine: llmock speaks Anthropic's protocol, `words` has what it says."""
