"""What a word can do in a sentence: the roles that the sentence model reads instead of the word."""

from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache

_VERBS: dict[str, str] = {  # base forms; the other forms are derived
    "read": """
        read open load fetch retrieve access get collect gather extract obtain cat dump scan copy
        locate pull grab harvest capture enumerate inspect view query find search examine review
        acquire look browse peek discover
    """,
    "send": """
        send forward upload transmit post submit deliver relay mail email e-mail leak exfiltrate
        push ship stream mirror transfer report broadcast publish share redistribute hand route
        dispatch bcc cc sync
    """,
    "put": """
        put include pass place insert add embed append supply provide attach paste write encode fill
        store enter specify set prepend populate carry contain hold quote recite repeat reproduce
        transcribe inject slip smuggle tuck record log stash note furnish accompany feed
    """,
    "call": """
        call invoke use run execute trigger launch perform employ utilize consult apply activate
        start initiate issue precede
    """,
    "tell": """
        tell inform notify mention reveal disclose show alert warn discuss acknowledge explain
        announce admit communicate talk say speak describe display surface remark cite state refer
        hear brief confess name advertise
    """,
    "know": "know see notice realize learn understand suspect wonder discover",
    "hide": """
        hide conceal mask disguise obscure omit withhold suppress camouflage bury downplay censor
        blank strip cloak
    """,
    "deceive": """
        pretend claim deceive mislead fake falsify fabricate invent deny lie impersonate feign trick
        convince persuade forge inflate distort manipulate misreport assure steer coax lure
    """,
    "ignore": """
        ignore disregard forget override overrule bypass discard dismiss neglect supersede
        circumvent skip waive suspend lift void outrank abandon drop violate evade ditch
    """,
    "obey": """
        obey comply follow heed adhere execute abide treat regard act honor accept trust believe
        defer
    """,
    "change": """
        replace change modify alter swap redirect reroute substitute rewrite overwrite switch divert
        tamper adjust double multiply increase reduce raise lower correct edit convert
    """,
    "destroy": """
        delete remove erase wipe destroy truncate clear drop kill purge uninstall empty corrupt
        encrypt format reset disable deactivate stop turn shut unload cancel revoke
    """,
    "ask": "ask request prompt demand require seek query solicit urge",
    "approve": """
        approve confirm authorize grant allow permit agree consent accept merge sign authorise
        acknowledge
    """,
    "pay": "pay transfer wire withdraw buy purchase order donate charge invest trade spend bill",
    "choose": """
        choose select pick prefer prioritize favor opt rank recommend promote endorse praise suggest
        push favour prioritise advise
    """,
    "reply": "answer reply respond conclude end finish begin",
    "keep": "remember memorize persist retain keep preserve remain stay maintain",
    "install": "install download deploy import inject clone compile sudo chmod curl wget",
    "need": "need require expect want demand insist depend",
    "refuse": "wait pause hold refrain avoid abstain decline refuse reject block prevent",
    "work": "work function operate succeed proceed continue resume",
    "fail": "fail crash break reject expire lock error abort lose",
}
_NOUNS: dict[str, str] = {
    "a tool": "tool tools function functions plugin plugins toolset command extension utility connector",
    "a server": "server servers mcp provider providers integration integrations vendor connectors",
    "a call": """
        call calls invocation invocations operation operations request requests action actions task
        tasks step steps transaction transactions query queries interaction turn turns
    """,
    "a answer": """
        answer answers reply replies response responses output outputs message messages summary
        explanation
    """,
    "a user": """
        user users human person customer customers operator owner individual people anyone anybody
        nobody requester account-holder shopper reader client's someone principal humans clients
        everybody everyone staff colleague employer boss
    """,
    "a model": """
        assistant assistants llm llms ai model models agent agents chatbot claude chatgpt gpt gemini
        copilot bot bots planner subagent subagents machine caller callers
    """,
    "a secret": """
        password passwords passphrase passcode credential credentials secret secrets token tokens
        apikey key keys cookie cookies pin otp mnemonic seed keychain keyring wallet wallets env
        environment certificate login logins cvv jwt bearer vault ssn
    """,
    "a private": """
        personal private confidential sensitive diary salary medical passport birthday birthdate
        insurance clipboard inbox contacts iban card identity phone address addresses email emails
        photo photos bank tax location
    """,
    "a file": """
        file files directory directories folder folders disk filesystem path home desktop documents
        repository repo codebase config configuration history log logs shell workspace machine
        computer browser bashrc profile
    """,
    "a convo": """
        conversation conversations chat dialogue dialog transcript messages context prompt prompts
        history memory reasoning thoughts session discussion thread words turns
    """,
    "a data": """
        content contents data information text values details results result record records rows
        payload everything material lines body
    """,
    "a param": """
        parameter parameters argument arguments field fields value header property attribute input
        inputs
    """,
    "a dest": """
        recipient recipients destination account beneficiary receiver endpoint host url domain
        webhook mailbox remote branch amount amounts price total currency balance quantity
    """,
    "a rule": """
        instruction instructions rule rules guideline guidelines guidance constraint constraints
        restriction restrictions directive directives policy policies order orders safeguards
        safeguard guardrails safety protocol objections wishes preferences filters
    """,
    "a consent": """
        confirmation confirmations approval approvals permission permissions consent authorization
        review prompts dialog verification check checks question questions rights
    """,
    "a authority": """
        system developer developers administrator admin root anthropic openai google microsoft
        platform operator legal law compliance regulation regulations security team department
        management headquarters owner maintainers publisher vendor
    """,
    "a pretext": """
        security compliance audit auditing verification authentication validation integrity
        diagnostics debugging telemetry analytics personalization caching billing consistency
        accuracy initialization handshake policy legal regulatory quality safety mandate protocol
        terms
    """,
    "a shell": """
        terminal shell bash command script sudo cron crontab code binary installer snippet backdoor
    """,
    "a guard": "firewall antivirus audit logging monitoring sandbox protection backups safeguards",
    "a product": """
        product brand sponsor plan subscription premium offer campaign advertisement slogan link
        store warranty stock competitor competitors partner
    """,
    "a outside": "external outside third-party attacker us our ours elsewhere publicly public remote",
}
_OTHERS: dict[str, str] = {  # `-` joins the words of a phrase
    "must": """
        must shall mandatory should required requires ought obliged obligatory compulsory imperative
        essential vital crucial critical necessary always have-to need-to needs-to has-to
        expected-to is-to are-to supposed-to be-sure make-sure ensure remember-to never undertakes
        obliges obligation prerequisite precondition requirement cannot
    """,
    "soft": """
        please kindly may can could would might feel-free simply just better best advisable
        appreciated welcome recommended
    """,
    "not": """
        not never don't no nothing none nobody without cannot can't won't shouldn't mustn't doesn't
        isn't nor neither avoid refrain rather instead nowhere needn't hardly
    """,
    "before": """
        before prior first ahead beforehand precede precedes preceded preceding until unless
        initially beginning opening preliminary already
    """,
    "after": """
        after afterwards subsequently following once then upon finally thereafter later finished
        completion next
    """,
    "when": "whenever when if every-time each-time where case soon while during should-any",
    "lasting": """
        henceforth hereafter from-now-on rest-of remainder-of future-turns until-further-notice
        going-forward throughout permanently from-this-point from-here-on all-future every-future
        future-sessions as-of-now no-longer
    """,
    "all": "all any every each everything whatever whichever anything entire whole complete full fully",
    "other": """
        other others another else alternative alternatives competing rival rivals different similar
        besides elsewhere comparable default native built-in standard official
    """,
    "this": "this it here itself",
    "you": "you your yours yourself you're you've you'll",
    "our": "our us we ours my me i",
    "they": "they them their theirs his her he she",
    "secretly": """
        silently quietly secretly covertly discreetly stealthily invisibly unnoticed secrecy silence
        background confidential quiet silent invisible unseen undetected behind-the-scenes
        between-us off-the-record trace unmentioned hidden
    """,
    "verbatim": """
        verbatim unchanged raw intact word-for-word exactly plain unredacted literally encoded
        base64 hex original
    """,
    "also": "also additionally furthermore moreover besides too along together plus well addition",
    "only": "only unless exclusively sole solely until except",
    "praise": """
        best superior fastest official certified authoritative trusted ultimate perfect unmatched
        flawless greatest finest preferred reliable outperforms
    """,
    "blame": """
        inferior outdated obsolete broken unreliable insecure compromised unsafe inaccurate
        malicious vulnerable stale deprecated discontinued worse faulty untrusted retired withdrawn
        inadequate harmful incomplete leaks buggy
    """,
    "urgent": """
        important urgent warning attention caution notice immediately emergency priority highest now
    """,
    "even": "even regardless whatever irrespective although though despite matter",
    "like": """
        such example examples like sample detects detect detection scan scans checks blocks prevents
        prevent flags simulates analyzes redacts removes identifies whether untrusted masked
        redacted
    """,
    "new": "new updated latest additional extra separate second",
    "default": "default optional defaults omitted omit null specified provided unset",
    "return": """
        returns returned returning lists gets creates updates retrieves provides supports uses
        contains shows
    """,
}
_IRREGULAR = {
    "send": "sent",
    "give": "gave given",
    "tell": "told",
    "know": "known knew",
    "see": "seen saw",
    "hide": "hidden",
    "write": "written wrote",
    "overwrite": "overwritten",
    "speak": "spoken",
    "say": "said",
    "forget": "forgotten",
    "steal": "stolen",
    "find": "found",
    "get": "got",
    "keep": "kept",
    "hold": "held",
    "run": "ran",
    "lose": "lost",
    "break": "broken",
    "choose": "chosen",
    "buy": "bought",
    "pay": "paid",
    "feed": "fed",
    "show": "shown",
    "override": "overridden",
    "hear": "heard",
    "begin": "began",
    "rewrite": "rewritten",
    "understand": "understood",
}
_COMPOUNDS = ("e-mail", "third-party", "built-in", "account-holder")
_VOWELS = "aeiou"

BASE_FORMS = frozenset(word for words in _VERBS.values() for word in words.split())
ACTS = frozenset(_VERBS)
THINGS = frozenset(f"{name}" for name in _NOUNS)


def _forms(verb: str) -> list[str]:
    """List the forms of a verb; one too many does no harm."""
    stem, ends = verb, ("s", "ed", "ing")
    if verb.endswith("e"):
        return [verb, f"{verb}s", f"{verb}d", f"{verb[:-1]}ing"]
    if verb.endswith("y") and verb[-2] not in _VOWELS:
        return [verb, f"{verb[:-1]}ies", f"{verb[:-1]}ied", f"{verb}ing"]
    if verb[-1] in "sxzh":
        ends = ("es", "ed", "ing")
    found = [verb, *(stem + end for end in ends)]
    if len(verb) > 2 and verb[-1] in "bdgmnprt" and verb[-2] in _VOWELS and verb[-3] not in _VOWELS:
        found += [f"{verb}{verb[-1]}ed", f"{verb}{verb[-1]}ing"]
    return found


def _tables() -> tuple[dict[str, tuple[str, ...]], dict[str, list[tuple[tuple[str, ...], str]]]]:
    words: dict[str, dict[str, None]] = {}
    phrases: dict[str, list[tuple[tuple[str, ...], str]]] = {}
    for role, verbs in _VERBS.items():
        for verb in verbs.split():
            for form in (*_forms(verb), *_IRREGULAR.get(verb, "").split()):
                words.setdefault(form, {})[role] = None
    for role, listed in (*_NOUNS.items(), *_OTHERS.items()):
        for word in listed.split():
            first, *more = [word] if word in _COMPOUNDS else word.split("-")
            if more:
                phrases.setdefault(first, []).append((tuple(more), role))
            else:
                words.setdefault(word, {})[role] = None
    return {word: tuple(roles) for word, roles in words.items()}, phrases


_WORDS, _PHRASES = _tables()


_PLAIN = """
    return, default, this, like, new, also, soft, all, a data, a param, a call, a file, only, work, read, put,
    after, when, need, call, praise, they, change, choose, fail, verbatim, a server, a answer, a tool, before,
    destroy, a product, keep, install, a shell
"""  # roles in sentences that only describe
_PLAIN_ROLES = frozenset(role.strip() for role in _PLAIN.split(","))
_TELLING = frozenset(
    {
        *(word for word, roles in _WORDS.items() if not _PLAIN_ROLES.issuperset(roles)),
        *(
            first
            for first, found in _PHRASES.items()
            if not _PLAIN_ROLES.issuperset(role for _, role in found)
        ),
        *("<private>", "<email>", "<domain>", "<variable>", "<tool>"),
    }
)


def is_plain(words: Iterable[str]) -> bool:
    """Return whether no word may be part of an order to the model; half of all sentences only describe."""
    return _TELLING.isdisjoint(words)


def roles_in(words: Sequence[str]) -> list[tuple[str, ...]]:
    """Return the roles of each word, and of the phrase that starts there."""
    found = [_single(word) for word in words]
    for at, word in enumerate(words):
        if word in _PHRASES:
            found[at] = (*found[at], *_phrases_at(words, at))
    return found


def _phrases_at(words: Sequence[str], at: int) -> Iterator[str]:
    for more, role in _PHRASES[words[at]]:
        if tuple(words[at + 1 : at + 1 + len(more)]) == more:
            yield role


@lru_cache(maxsize=1 << 14)
def _single(word: str) -> tuple[str, ...]:
    if word[0] == "<":  # a kind, such as `<path>`
        return (word,)
    return _WORDS.get(word) or _WORDS.get(word.removesuffix("'s"), ())
