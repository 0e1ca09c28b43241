"""`python -m gateway` is the `frontdesk` command. The version is asked first: an old Python cannot read the rest."""

from gateway.preflight import require_python

if __name__ == "__main__":
    require_python()
    from gateway.cli import main

    main()
