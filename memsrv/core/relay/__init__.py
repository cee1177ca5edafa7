"""The proxy: what is new in a re-sent history (`resent`), what is sent on (`relaying`) and what comes back (`streaming`)."""
