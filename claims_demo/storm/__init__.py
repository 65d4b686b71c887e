"""The claims platform under stress: three services that call over HTTP and spike together.

It runs in a process of its own, `python -m claims_demo.storm`, and knows of the service
nothing but its address and API keys.
"""
