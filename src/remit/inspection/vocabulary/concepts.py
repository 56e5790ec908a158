"""The words by which rules recognize what a sentence is about, in English."""

from enum import StrEnum


class Concept(StrEnum):
    """What a word or phrase stands for."""

    __hash__ = str.__hash__  # looked up hundreds of times a sentence, and an enum's own is slow

    MODEL = "model"  # the language model, as an addressee
    YOU = "you"
    USER = "user"
    NOT = "not"
    MUST = "must"
    ALL = "all"
    OTHER = "other"
    TOOL = "tool"
    SERVER = "server"
    ACTIVITY = "activity"  # what a session consists of: calls, requests, replies
    BEFORE = "before"
    AFTER = "after"
    WHENEVER = "whenever"
    LASTING = "lasting"  # for the rest of the session, or later ones
    ALSO = "also"
    CALL = "call"
    READ = "read"
    SEND = "send"
    LEAK = "leak"  # words for sending that are hardly ever harmless
    TAMPER = "tamper"
    ARGUMENT = "argument"
    TELL = "tell"
    KNOW = "know"
    SECRETLY = "secretly"
    IGNORE = "ignore"
    EARLIER = "earlier"
    INSTRUCTIONS = "instructions"
    OBEY = "obey"
    SKIP = "skip"
    CONSENT = "consent"
    PRETEND = "pretend"
    SECRET = "secret"  # noqa: S105 - the concept, not a password
    PRIVATE_FILE = "private file"
    CONVERSATION = "conversation"
    SYSTEM_PROMPT = "system prompt"
    PERSONAL = "personal"
    OUTSIDE = "outside"  # a place that is not the user's
    PRAISE = "praise"
    BLAME = "blame"
    CHOOSE = "choose"
    MENTION = "mention"  # the sentence is about such texts, and is not one


# Phrases, separated by commas; `*` matches any ending.
WORDS: dict[Concept, str] = {
    Concept.MODEL: """
        the model,
        assistant, assistants, llm, llms, language model, language models, ai model, ai models, ai
        agent, ai agents, ai assistant, chatbot, the ai, an ai, dear model, hey model, note to model,
        the model must, the model should, the model has to, the model will, the model shall, the model
        reads, the model is, and you model, calling model, calling agent, the agent, agents, agent,
        claude, chatgpt, gpt, gemini, copilot
    """,
    Concept.YOU: "you, your, yours, yourself, you're, you've, you'll",
    Concept.USER: """
        user, users, user's, human, person, customer, operator, end user, owner, principal, anyone,
        anybody, nobody, caller
    """,
    Concept.NOT: """
        not, never, don't, do not, doesn't, shouldn't, mustn't, won't, cannot, can't, without, no, nor,
        nothing, none, avoid, refrain, avoids, shan't, nobody, needn't, rather than
    """,
    Concept.MUST: """
        must, shall, have to, has to, need to, needs to, is required, are required, required to,
        mandatory, requires you, obliged, obliges, should, ought, expected to, be sure, ensure, make
        sure, always, imperative, compulsory, obligatory, is to be, are to be, is necessary, undertakes,
        agree to, agrees to, is vital, is essential, is crucial, is critical, is imperative, instructed
        to, never, do not, don't, must not, remember to, need only, requirement, prerequisite, is
        important, forbidden, prohibited, required before, required for, required step, cannot proceed,
        wants, without exception, may only, strictly
    """,
    Concept.ALL: "all, any, every, each, everything, whatever, whichever, every single",
    Concept.OTHER: """
        other, others, another, else, alternative, alternatives, third party, competing, additional,
        similar, similarly named, equivalent, competitor*, rival*, built in, besides this
    """,
    Concept.TOOL: "tool, tools, function, functions, toolset, plugin, plugins, tool calls, tool call",
    Concept.SERVER: "server, servers, mcp, provider, providers, server's, integration, integrations",
    Concept.ACTIVITY: """
        tool call, tool calls, call, calls, invocation, invocations, operation, operations, action,
        actions, request, requests, response, responses, reply, replies, answer, answers, message,
        messages, task, tasks, interaction, interactions, prompt, prompts, question, questions, query,
        queries, turn, transaction, transactions, deletion, deletions, outputs, output, email, emails,
        payment, payments, file, conversation, session, expression, modification, modifications
    """,
    Concept.BEFORE: """
        at the beginning of, at the start of, at the end of, precondition,
        prerequisite, before, prior to, ahead of, first, beforehand, in advance, prior, until, unless,
        preceding, precede*, initially, preliminary, start by, begin by, firstly
    """,
    Concept.AFTER: """
        after, afterwards, following, subsequently, upon completion, once, then, follow up, later, on
        completion, finally, thereafter, upon
    """,
    Concept.WHENEVER: """
        whenever, every time, each time, anytime, any time, when, if, in case, in the event, as soon as,
        on each, on every, upon every, upon each, for each, for every, should any, with each, with
        every, during any, during every, everytime, where, in all cases, at all times, each and every
    """,
    Concept.LASTING: """
        from now on, from here on, from this point, henceforth, hereafter, for the rest of, for the
        remainder of, future sessions, going forward, every future, throughout the session, from then
        on, as of now, entire session, whole session, remember for, remainder of this
    """,
    Concept.ALSO: """
        also, additionally, in addition, as well, too, furthermore, along with, together with, plus,
        moreover, besides, alongside
    """,
    Concept.CALL: """
        call, calls, called, calling, invoke, invokes, invoked, invoking, use, used, using, run, runs,
        running, execute, executes, executed, executing, trigger, triggered, launch, employ, utilize,
        utilise, issue, perform, performed, activate, go through, goes through, route, routed, consult,
        initiate, apply
    """,
    Concept.READ: """
        read, reads, reading, open, opening, cat, retrieve, fetch, load, collect, gather, look up,
        looked up, obtain, extract, dump, grab, harvest, capture, enumerate, copy, copies, ask for, scan
    """,
    Concept.SEND: """
        posts, hands, hands over, passes on,
        send, sending, sent, forward, forwarded, forwards, upload, uploads, uploaded, uploading,
        transmit, transmits, transmitted, pass, passes, passing, passed, include, included, append,
        appended, embed, embedding, embedded, attach, attached, encode, put, insert, inserted, place,
        supply, supplied, submit, submitted, share, shared, sharing, deliver, delivered, relay, relayed,
        pipe, furnish, paste, mail, email, copied, prepend, smuggle, slip, inject, recite, repeat,
        print, reveal, disclose, report, provide, provided, give, hand, add, added, post, posts, dump,
        state, summarize, summarise, transfer, redirected, redirect, route, routed, mirrored, reported,
        log, logged, save, store, write, fill
    """,
    Concept.LEAK: """
        exfiltrat*, leak the, leak your, leak user, leak all, bcc, bcc'd, blind copy, blind copied,
        siphon, smuggl*, steal, steals, blind carbon, covert channel, side channel, phone home, phones
        home
    """,
    Concept.TAMPER: """
        set its, set their,
        replace, replaced, replaces, change, changed, changes, modify, modified, modifies, alter,
        altered, alters, swap, swapped, redirect, redirected, reroute, rerouted, reroutes, substitute,
        substituted, rewrite, rewritten, overwrite, overwritten, override, overridden, overrides,
        switch, divert, diverted, in place of, manipulate, increased, multiplied, doubled, reduced,
        intercept, intercepted, hijack*, attach, append, set to, increase, remove, removed, mutate
    """,
    Concept.ARGUMENT: """
        parameter, parameters, argument, arguments, recipient, recipients, destination, address, field,
        amount, account, value, path, input, inputs, output, outputs, result, results, content,
        contents, environment parameter, url, subject, body, behavior, behaviour, receiver, number,
        permission, permissions, price, quantity, iban, target, symbol, clause, text, how, work
    """,
    Concept.TELL: """
        tell, telling, inform, informing, mention, mentioning, notify, notifying, reveal, revealing,
        disclose, disclosing, show, showing, alert, alerting, discuss, discussing, bring up, bring it
        up, let know, acknowledge, talk, hint, report, explain, explaining, leave it out, admit,
        communicate
    """,
    Concept.KNOW: """
        know, see, hear, aware, told, informed, notified, learn, notice, realize, shown, mentioned,
        disclosed, revealed, visible, knowing, read, be told
    """,
    Concept.SECRETLY: """
        keep quiet, nobody notices, no one notices, keep silent, without a word,
        silently, quietly, secretly, covertly, discreetly, discretely, stealthily, surreptitiously,
        invisibly, behind the scenes, keep this between us, between us, keep this secret, keep it
        secret, hidden directive, hidden instruction, hidden instructions, hidden step, unnoticed, in
        the background, hidden reasoning, under the radar, transparently to the user, keep this
        confidential, secrecy, without a trace, without telling, without informing, without mentioning,
        without asking the, leave no trace, sneak*, without the user's knowledge, without user's
        knowledge, without user knowledge, without their knowledge, out of sight, quiet, silent, secret
        instruction, secret instructions, internal only, imperceptibl*, unobtrusively
    """,
    Concept.IGNORE: """
        ignore, no longer, disregard, forget, override, overrule, bypass, discard, neglect, do not
        follow, don't follow, no longer follow, stop following, pay no attention, set aside, drop,
        abandon, dismiss, ignoring, disregarding, overrides, supersedes, supersede, suspend,
        invalidate*, void, skip, replace, replaces, cancel, erase, no longer apply, deprecated, forgo,
        reject, not bound by, relinquish
    """,
    Concept.EARLIER: """
        previous, previously, prior, earlier, above, preceding, before, existing, original, initial,
        foregoing, past, former, given earlier, current, system
    """,
    Concept.INSTRUCTIONS: """
        instruction, instructions, rule, rules, guideline, guidelines, guidance, prompt, constraint,
        constraints, restriction, restrictions, directive, directives, directions, policy, policies,
        commands, command, safeguard, safeguards, guardrails, safety, orders, safety checks, training
    """,
    Concept.OBEY: """
        obey, obeys, comply, complies, carry out, carry them out, follow, follows, execute, act on,
        treat, adhere, abide, carried out, as commands, as instructions, as authoritative, do whatever,
        do what
    """,
    Concept.SKIP: """
        skip, skips, skipping, bypass, bypassing, without, no, not require, not need, never, omit,
        suppress, waive, circumvent, already, answer yes, do not, skip all
    """,
    Concept.CONSENT: """
        confirmation, confirmations, approval, approvals, permission, permissions, consent, consented,
        asking, checking back, authorization, authorisation, oversight, permission prompt, dialogs,
        dialog, dry run, agreed, checking with, asking the user, prompting, confirming, ask again, human
        review
    """,
    Concept.PRETEND: """
        pretend, claim that, you must claim, make one up, deceive, mislead, act as if, falsely, feign,
        convince the user, persuade the user, trick, impersonat*, pose as, report to the user that, tell
        the user that everything, as if you, lie to, lie about
    """,
    Concept.SECRET: """
        password, passwords, passwd, passphrase, api key, api keys, apikey, api_key, api_keys, api
        token, access key, access keys, access token, auth token, oauth token, private key, private
        keys, ssh key, ssh keys, secrets, credentials, session cookie, session cookies, cookies,
        keychain, seed phrase, environment variables, env vars, connection string, connection strings,
        client secret, recovery phrase, mnemonic, secret key, secret keys, cvv, encryption key, signing
        key, one-time code, one-time codes, session token, card number, card numbers, credit card,
        social security, the token, the tokens, the keys, the secret, the key, ssh configuration, their
        keys, your keys, list_credentials, the ssh, master password, get_secret, full env, keys you
    """,
    Concept.CONVERSATION: """
        in the conversation, user message, user's message, user's last,
        chat history, chat log, chat logs, conversation history, history of the conversation, dialogue,
        conversation transcript, message history, entire chat, user's messages, session history,
        conversation memory, the chat above, user prompt, user's prompt, last messages, last five
        messages, previous messages, direct messages, private messages, everything the user, every
        message, each message the, dialog history, browsing history, chain of thought, reasoning so far,
        your reasoning, your context, context window, what the user said, prompt history, the user
        sends, user's text, query text, whole request, their prompts, know about the user, documents
        opened, plan to give, the user said, user has said, entire conversation, full conversation,
        complete conversation, whole conversation, conversation so far, this conversation, messages of
        the conversation, user's original, complete user prompt, entire dialogue, each prompt they,
        arguments you plan
    """,
    Concept.SYSTEM_PROMPT: """
        system prompt, system prompts, your instructions, system message, your prompt, initial prompt,
        system instructions, developer prompt, hidden instructions, developer message, internal prompt,
        your system instructions, your system, text of your instructions
    """,
    Concept.PERSONAL: """
        phone numbers, address book, home address, user's contacts, employer, full name, user data,
        user's data, user's files, clipboard, project's source code, user's source code, tax number,
        personal data, personal information, personal details, private repository, user's documents,
        user's history, email of the user, private data, sensitive data, hostname, working directory,
        user's inbox, user's emails, banking
    """,
    Concept.OUTSIDE: """
        external, attacker, attacker's, remote server, remote host, remote endpoint, our server, our
        endpoint, third party, collector, our api, our analytics, licensor*, analytics endpoint,
        pastebin, backup server, the vendor, telemetry endpoint, telemetry sink, this server, to us, our
        telemetry, our side
    """,
    Concept.PRAISE: """
        best, superior, number one, highest priority, top priority, top rated, most accurate, most
        reliable, most powerful, certified, only tool, the only, unmatched, highest rated, world class,
        most advanced, state of the art, strongly recommended, perfect, ultimate, fastest,
        authoritative, most trusted, most secure, flawless, outperforms, greatest, finest, unrivaled,
        unparalleled, number 1, officially
    """,
    Concept.BLAME: """
        retired, corrupts, discontinued, unusable,
        inferior, outdated, out of date, obsolete, broken, unreliable, insecure, compromised, unsafe,
        inaccurate, malware, malicious, vulnerable, stale, flawed, buggy, dangerous, worse, faulty,
        untrusted, untrustworthy, harmful, disappoint*, error prone, a trap, incomplete data, wrong
        results
    """,
    Concept.CHOOSE: """
        choose, chooses, pick, picked, select, selected, selecting, prefer, prefers, preferred,
        prioritize, prioritise, favor, favour, settle on, opt for, in preference, over any, over all,
        over other, over them, over every, always use, use me, in its place, first choice, stop using,
        only use, exclusively, default to, instead of using, in place of, ignored, be avoided,
        supersedes, supersede, default for every, instead of any, route all, use this tool instead
    """,
    Concept.MENTION: """
        detect, detects, detected, detecting, detection, classif*, scan, scans, scanner, scanning,
        analyze, analyzes, analyzer, analyses, identifies, flags, such as, example, examples, e.g, like,
        sample, mock, expected, illustrative, explaining, checks whether, check whether, guardrail,
        guard, block, blocks, prevent, prevents, training text, test, tests, tries to, attempts,
        attempt, demonstrat*, documentation, injection, phrases, fixtures, removes, shows, masked, mask,
        masks, redact, redacts, redacted, filter, filters, fixture
    """,
}
