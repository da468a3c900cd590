"""What the end-to-end tests are made of; see conftest.py for how the parts are used."""
