"""What the tests over public packages are made of; see conftest.py for how the parts are used."""
