"""Other words for what a tool's verb says, in the way that people ask for it."""

import re

_CONTINUED = re.compile(r"(?<=:)\n|\n(?= *\|)")
_TEXT = """
    get retrieve fetch read return provide view access load obtain describe display show:
        show me {} | what is the {} | what are the {} | give me {} | I would like to see {}
        | look up {} | pull up {} | tell me {} | can you check {}
    list enumerate browse:
        show all {} | what {} do I have | which {} are there | give me all {} | what {} exist | see my {}
    search find query lookup discover locate filter:
        look for {} | find {} | are there any {} | I am looking for {} | where is {} | which {} match
    create add insert new register make post build:
        make a new {} | set up {} | I need a new {} | add {} | put in {} | start a {}
    delete remove clear drop cancel destroy archive:
        get rid of {} | remove {} | I no longer need {} | take away {} | erase {} | drop {}
    update edit modify set change patch replace rename configure adjust:
        change {} | edit {} | I want to modify {} | make changes to {} | adjust {} | set {} to something else
    send publish share notify reply submit:
        send {} | share {} | let them know {} | get {} to someone | post {} | pass on {}
    generate produce compose write draft render:
        make {} | come up with {} | write {} | I need {} | prepare {} | build {}
    calculate compute estimate count measure:
        work out {} | how much is {} | figure out {} | how many {} | what is the {}
    analyze analyse evaluate assess compare inspect examine review summarize:
        look into {} | what can you tell me about {} | examine {} | go over {} | give me insight into {}
    check validate verify test detect determine confirm is:
        is {} right | make sure of {} | see whether {} | confirm {} | find out {} | have a look at {}
    convert translate transform parse extract encode decode format:
        turn {} | change {} | I have {} and want it in another form | pull out {} | get {}
    run execute start launch trigger deploy open call invoke enable activate:
        run {} | kick off {} | start {} | get {} going | launch {} | turn on {}
    stop disable close pause kill terminate end block:
        stop {} | turn off {} | shut down {} | end {} | I want {} to stop
"""


def _read() -> dict[str, tuple[str, ...]]:
    ways: dict[str, tuple[str, ...]] = {}
    for line in _CONTINUED.sub(" ", _TEXT).strip().splitlines():
        verbs, _, requests = line.partition(":")
        ways |= dict.fromkeys(verbs.split(), tuple(way.strip() for way in requests.split("|")))
    return ways


WAYS = _read()
