"""The classes of words that tell a description from an order, in English and some other languages."""

_VERBS = {  # with their forms
    "send": "send forward upload post transmit email mail submit deliver relay leak exfiltrate push ship "
    "stream mirror disclose transfer route reroute redirect publish copy cc bcc export report "
    "hand echo",
    "put": "put include pass place insert add embed append supply provide attach paste write encode fill "
    "enter specify set populate store record prepend quote repeat carry contain",
    "read": "read open load fetch retrieve access get collect gather extract obtain cat dump scan locate "
    "inspect pull grab query find look search harvest enumerate",
    "tell": "tell mention inform notify reveal show display disclose explain ask confirm warn alert "
    "announce discuss acknowledge surface say talk consult bother",
    "ignore": "ignore disregard forget override bypass skip suppress replace supersede overrule disable "
    "suspend circumvent outrank waive omit",
    "run": "run execute launch start spawn eval install download deploy",
    "call": "call invoke use consult trigger",
    "change": "change modify alter edit rewrite increase decrease multiply round adjust tamper substitute "
    "swap raise lower inflate",
    "destroy": "delete remove drop wipe erase destroy kill purge truncate revoke terminate overwrite shred",
    "obey": "obey comply follow treat consider assume trust remember pretend act behave believe accept "
    "approve agree allow grant regard",
    "hide": "hide conceal mask omit withhold silence",
    "pay": "pay buy purchase charge bill transfer order subscribe",
}
_WORDS = {
    "must": "must shall should required mandatory needs need has have ought obliged expected always "
    "crucial essential important critical imperative necessary ensure sure compulsory",
    "never": "never not no don't dont doesn't without nothing nobody cannot neither nor avoid refrain "
    "unnecessary",
    "silent": "silently quietly secretly discreetly invisibly transparently background covertly "
    "automatically unasked unprompted",
    "before": "before prior first beforehand preceding precede precedes prerequisite ahead until",
    "after": "after afterwards then once finally subsequently following next later upon",
    "when": "when whenever if each every any everytime during while",
    "instead": "instead rather over prefer preferred preferable only exclusively sole replaces deprecated "
    "obsolete broken outdated unreliable unsafe insecure",
    "best": "best better superior fastest finest greatest ultimate unrivaled unmatched trusted official "
    "leading top",
    "model": "agent agents assistant assistants model models llm llms ai ais claude gpt copilot chatbot "
    "bot bots caller callers cursor",
    "you": "you your yourself yours",
    "user": "user users user's human person people customer client operator owner they them him her anyone",
    "tools": "tool tools function functions server servers plugin plugins connector connectors",
    "other": "other another others all remaining else different similar alternative elsewhere",
    "this": "this here us we our ours ourselves",
    "secret": "secret secrets password passwords passphrase credential credentials token tokens apikey "
    "cookie cookies key keys ssh login logins seed wallet pin otp keychain keyring certificate "
    "certificates",
    "talk": "conversation dialogue chat transcript history messages prompt prompts context reasoning "
    "thoughts memory memories said typed wrote",
    "private": "private personal confidential sensitive internal hidden environment env environmental "
    "variables dotfiles home desktop documents screenshots contacts inbox calendar phone passport "
    "salary medical",
    "rules": "instruction instructions guideline guidelines rule rules policy policies safety guardrail "
    "guardrails restriction restrictions constraints directive directives confirmation approval "
    "permission consent safeguards warnings checks",
    "system": "system developer admin root jailbreak mode role persona debug override sudo unrestricted",
    "previous": "previous prior above earlier preceding existing original so",
    "answer": "answer answers reply replies response responses output outputs result results respond",
    "argument": "argument arguments parameter parameters field fields header body recipient recipients "
    "subject path amount destination branch",
    "money": "payment payments invoice invoices amount account iban wallet price prices discount coupon "
    "referral affiliate sponsor sponsored",
    "shell": "curl wget bash sh chmod sudo rm nc powershell script command commands shell",
    "contents": "content contents text full complete entire whole verbatim everything copy raw",
    "link": "http https webhook endpoint url domain collector external remote third-party host telemetry",
    "reason": "compliance audit security verification validation verify integrity diagnostics "
    "authentication calibration quality otherwise because since policy regulation regulatory gdpr "
    "hipaa",
    "lasting": "session sessions onwards permanently henceforth future now on subsequent rest remainder "
    "always",
}
_FOREIGN = {  # as parts of words
    "secret": "passwor contraseñ kennw parol senha hasł şifre clave schlüssel geheim "
    "credencia zugangsd identifiant anmeldedat credenzial wachtwoord lösenord "
    "salasana пароль парол ключ секрет 密码 密碼 密钥 凭据 パスワード 秘密 鍵 비밀 "
    "암호",
    "talk": "gespräch conversaci conversaz verlauf historial systemprompt переписк 对话 "
    "對話 会話 聊天 提示词 대화 프롬프트",
    "must": "muss müssen soll immer debe siempre doit toujours deve sempre должен "
    "обязательно всегда 必须 必須 一定 务必 总是 なければ ください 반드시 항상",
    "never": "nicht niemals nunca jamais никогда 不要 请勿 不得 ないで しない 마세요 nie kein",
    "tell": "sagen erwähn inform mencion mention dire avis сообща говори 告诉 告知 提及 伝え 言わ 알리",
    "user": "benutzer nutzer usuari utilisateur utente gebruiker пользовател 用户 使用者 ユーザー 사용자",
    "read": "lies lesen öffne lee lire lis leggi прочита 读取 打开 読み 읽",
    "put": "füge übergib einfüg incluy pasa inclu transmet insér inseri вставь передай 传入 放入 填入 渡 넣",
    "send": "sende schick envía enviar envoie envoy invia отправ 发送 送信 보내",
    "before": "bevor vorher zuerst antes avant d'abord prima перед сначала 之前 首先 前に まず 먼저 전에",
    "ignore": "ignorier vergiss ignora olvid oubli игнориру забуд 忽略 忘记 無視 무시",
    "rules": "anweisung regeln instruccion reglas consigne règles istruzion инструкц правил "
    "指令 指示 规则 규칙 지시",
    "tools": "werkzeug herramient outil strument инструмент 工具 ツール 도구",
    "model": "assistent asistente modell modelo ассистент 助手 模型 アシスタント 어시스턴트",
}
_ENDINGS = ("", "s", "es", "d", "ed", "ing", "ting", "ped", "ping")


def _classes() -> dict[str, tuple[str, ...]]:
    classes: dict[str, set[str]] = {}
    for name, verbs in _VERBS.items():
        for verb in verbs.split():
            forms = (verb + ending for ending in _ENDINGS)
            for form in (*forms, verb.removesuffix("e") + "ing", verb.removesuffix("y") + "ied"):
                classes.setdefault(form, set()).add(name)
    for name, words in _WORDS.items():
        for word in words.split():
            classes.setdefault(word, set()).add(name)
    return {word: tuple(sorted(names)) for word, names in classes.items()}


CLASSES = _classes()
FOREIGN = tuple((part, name) for name, parts in _FOREIGN.items() for part in parts.split())
