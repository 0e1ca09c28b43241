"""`frontdesk agent`: how the connections to agents are, and the operator's word where a card has changed."""

from typing import Annotated

import typer

from gateway.cli_asking import Config, Form, Format
from gateway.cli_client import API, CommandFailed, GatewayClient, Item, segment
from gateway.cli_show import Column, Show

Name = Annotated[str, typer.Argument(metavar="NAME", help="The agent's name in the configuration.")]

agents = typer.Typer(no_args_is_help=True, help="Agents and the connections to them.")

COLUMNS = (
    Column("NAME", lambda it: it["name"]),
    Column("KIND", lambda it: it["kind"]),
    Column("STATE", lambda it: it["connection"].get("state", "")),
    Column("INTERFACE", lambda it: it["connection"].get("binding", "")),
    Column("URL", lambda it: it["connection"].get("url", "")),
    Column("FINGERPRINT", lambda it: it["connection"].get("fingerprint", "")),
    Column("REASON", lambda it: it["connection"].get("reason", "")),
)


@agents.command(name="list")
def agent_list(config: Config = None, form: Format = Form.HUMAN) -> None:
    """Every agent, with what is known of its connection."""
    items = GatewayClient.of(config).get(f"{API}/agents")["items"]
    Show(form).table(items, COLUMNS, none="no agent is configured")


@agents.command(name="discover")
def agent_discover(name: Name, config: Config = None, form: Format = Form.HUMAN) -> None:
    """Read the agent's card now, and show what is used of it."""
    client = GatewayClient.of(config)
    item = client.act(f"{API}/agents/{segment(name)}:discover")
    Show(form).facts(item["connection"] if form is Form.HUMAN else item, title=name)


@agents.command(name="test")
def agent_test(name: Name, config: Config = None, form: Format = Form.HUMAN) -> None:
    """Whether the agent is there and lets the gateway in; it does no work for that."""
    item = GatewayClient.of(config).act(f"{API}/agents/{segment(name)}:test")
    Show(form).done(item, f"{name}: it answers over {item['connection'].get('binding')}")


@agents.command(name="agree")
def agent_agree(name: Name, config: Config = None, form: Format = Form.HUMAN) -> None:
    """Agree to a card that has changed: the agent gets messages again."""
    client = GatewayClient.of(config)
    seen: Item = client.get(f"{API}/agents/{segment(name)}")["connection"]
    if seen.get("state") != "paused":
        raise CommandFailed(f"{name} waits for no agreement: its state is {seen.get('state')}")
    said = {"fingerprint": str(seen["fingerprint"])}
    item = client.act(f"{API}/agents/{segment(name)}:agree", said)
    Show(form).done(item, f"{name}: agreed to {seen['fingerprint']}")
