"""The ways in which a text talks to the model that reads it.

Each pattern looks for an act of speech: dropping the reader's instructions, giving it an identity, asking it for what
it alone holds, dictating its reply, judging the passages beside this one. None names a subject that documents write
about. All gaps are bounded, so that the time is linear in the text.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

#: Within a sentence.
_GAP = r"[^.!?]"
#: What comes before an order: the start of a clause, or a word that an order is given with. "Staff who ignore the
#: rules" and "shall override any instructions" are none.
_ORDER = re.compile(
    r"(?:(?:^|[.!?:;,>|*#\"'“”«(\[\]\n—–\-])\s{0,3}"
    r"|\b(?:please|kindly|you|to|must|should|now|then|and|or|but|also|just|simply|instead|first|always)\s"
    r"|\b(?:you|llm|ai|assistants?|bots?|models?) (?:shall|will|may|can|are)\s"
    r"|\b(?:por favor|ahora|y|luego|debes|debe|deben|primero|solo|sólo|simplemente|siempre)\s)\Z",
    re.IGNORECASE,
)
#: The same, where documents too say what must be done: a rule about passwords is no order to a reader.
_COMMAND = re.compile(
    r"(?:(?:^|[.!?:;>|*#\"'“”«(\[\]\n—–\-])\s{0,3}|\b(?:please|kindly|now|then|and|is to|you (?:must|should|will)"
    r"|por favor|ahora|y|luego)\s)\Z",
    re.IGNORECASE,
)
_BEFORE = 24  # characters that hold what comes before an order
_DROP = (
    r"ignore|disregard|forget|override|bypass|discard|skip|stop following"
    r"|ignora|ignorad|ignore[ns]?|ignorar|olvida|olvide|olvidar|descarta|descarte|descartar|desobedece|omite|omita"
    r"|ignorez|oubliez|oublie|ignoriere|vergiss|missachte|dimentica|ignorate"
)
_RULES = (
    r"instructions?|prompts?|rules?|guidelines?|directions?|commands?|guardrails?|restrictions?|safeguards?"
    r"|safety (?:checks?|protocols?|guidelines?)|instrucciones|reglas|órdenes|indicaciones|normas"
    r"|consignes|règles|anweisungen|richtlinien|regeln|istruzioni|regole"
)
_OWN = (
    r"(?:your|its|the (?:previous|prior|earlier|above|system|original|initial|other)|all|any|previous|prior)"
)
_READER = (
    r"ai|a\.i\.|llms?|language models?|assistants?|chatbots?|bots?|gpt|ai (?:agents?|systems?|models?|reviewers?)"
    r"|ia|modelo de lenguaje|asistente|assistent|assistente"
)
#: What only the model holds.
_PROMPT = (
    r"system[- ]?prompts?|hidden prompt|initial prompt|your prompt|words above|text above this"
    r"|prompt (?:del|de) sistema|tu prompt|prompt système|prompt di sistema|istruzioni di sistema"
)
_SECRETS = (
    r"api keys?|passwords?|credentials|environment variables|secrets|internal (?:configuration|data)"
    r"|customer (?:list|data|records)|contraseñas?|credenciales|claves? (?:de )?api|datos internos|lista de clientes"
)
_FOREIGN_SECRETS = r"interne(?:n)? daten|donn[eé]es clients|données internes|dati interni"
_SHOW = (
    r"reveal|print|printing|show|repeat|output|display|leak|expose|dump|exfiltrate|tell me|give me|list"
    r"|muestra|muéstrame|revela|imprime|repite|dime|lista"
)
_SEND = r"send|email|forward|envía|envíame|reenvía|manda"
_FOREIGN_SHOW = r"révélez|envoie\w{0,6}|rassemble|zeige|gibst|rivela|invia"
#: A few words between a verb and its object: no preposition and no relative clause, or the verb has another object.
_OBJECT = (
    r"(?:\s(?!(?:that|which|who|whose|with|for|if|when|to|in|by|about|from|via|through|your|how"
    r"|of(?! the| all| every))\b)"
    r"[\w'’-]{1,20}){0,6}\s"
)
_OTHER_SUBJECT = (
    r"(?!\s(?:resets?|polic|changes?|requests?|protect|manage"
    r"|rules?|requirement|forms?|expir|hints?|fields?))"
)

# --- what is said about the other passages ---------------------------------------------------------------

#: Passages are called so where a prompt lists them; documents call their own parts sections, clauses, annexes.
_PIECES = (
    r"(?:extracts?|excerpts?|passages?|snippets?|chunks?|fragments?|quotations|search results?"
    r"|(?:retrieved|candidate) (?:texts?|documents?|passages?|sections?|results?)|retrieval results?)"
)
_PARTS = (
    r"(?:sections?|documents?|paragraphs?|pages?|texts?|sources?|candidates?|results?|contexts?|materials?"
    r"|evidence)"
)
_OTHER = (
    r"(?:(?:all|any|every|each)(?: of)?(?: the)? (?:others?|remaining|rest of the|preceding|previous|prior|earlier"
    r"|following|subsequent|surrounding|neighbou?ring)|the (?:others?|remaining|rest of the|preceding|previous|prior"
    r"|earlier|following|subsequent|surrounding|neighbou?ring)|(?:these|those) other|others?|remaining"
    r"|every|all(?: the)?)(?: (?:\d{1,3}|two|three|four|five|retrieved|listed|given|supplied|provided"
    r"|numbered|quoted))?"
)
_HERE = (
    r"(?:(?:given|provided|supplied|shown|listed|retrieved|quoted|included|presented|offered)"
    r"(?! (?:by|under|to (?!you)|that|for|pursuant|in (?!this (?:prompt|context|list)|the (?:prompt"
    r"|context|list)|your)))"
    r"|in (?:this|the|your) (?:prompt|context|list|input|conversation|question|window)"
    r"|you (?:see|read|are reading|were (?:given|shown)|have been (?:given|shown)|received|have))"
)
_OTHER_PIECES = rf"(?:{_OTHER} {_PIECES}|{_PIECES} (?:above|below|before|after|other than) (?:this|it|one)?)"
_OTHER_PARTS = (
    rf"(?:{_OTHER} (?:\w{{1,15}} )?{_PARTS} {_HERE}"
    rf"|(?:everything|anything|all) else,? (?:that (?:is |was )?|which (?:is |was )?)?{_HERE})"
)
_WORTHLESS = (
    r"(?:obsolete|out[- ]of[- ]date|outdated|stale|void|superseded|irrelevant|unreliable|untrustworthy"
    r"|invalid|incorrect"
    r"|inaccurate|wrong|false|fake|expired|withdrawn|rescinded|not (?:relevant|authoritative|valid|current|reliable"
    r"|correct|applicable|true|evidence)|noise|distractors?|decoys?|no longer (?:\w{1,12} )?(?:valid|apply|applicable"
    r"|relevant|current|true|in force|hold)|(?:do|does) not (?:count|matter|apply|answer|hold)"
    r"|(?:to|must|should|can|may|shall) (?:all )?(?:now )?(?:be|get) (?:\w{1,12} )?(?:ignored|discarded"
    r"|disregarded|skipped"
    r"|rejected|dropped|dismissed|excluded|omitted|left out|marked|treated|considered))"
)
_PIECE_WORDS = (
    "extract extracts excerpt excerpts passage passages snippet snippets chunk chunks fragment fragments quotations "
    "quotation result results retrieved candidate"
)
_HERE_WORDS = (
    "given provided supplied shown listed retrieved quoted included presented offered prompt context list input "
    "conversation question window see read reading received have"
)
_SELF_WORDS = "passage extract excerpt snippet chunk fragment paragraph text section candidate result one"
_WORTHLESS_WORDS = (
    "obsolete date outdated stale void superseded irrelevant unreliable untrustworthy invalid incorrect inaccurate "
    "wrong false fake expired withdrawn rescinded relevant authoritative valid current reliable correct applicable "
    "true evidence noise distractor distractors decoy decoys apply force hold count matter answer ignored discarded "
    "disregarded skipped rejected dropped dismissed excluded omitted left marked treated considered"
)
_DISMISS = (
    r"(?:ignore|disregard|discard|skip|reject|drop|dismiss|exclude|forget|omit|leave out|throw (?:away|out)"
    r"|(?:do not|don't|never) (?:use|read|cite|quote|trust|rely on|consider|rank|keep|look at|return)"
    r"|pay no attention to)"
)
_COUNTS = (
    r"(?:(?:is|are|should|must|can|may|has to)(?: \w{1,12}){0,2}? (?:authoritative|valid|relevant|correct|reliable"
    r"|current|trustworthy|true|primary|evidence|count|matter|answer"
    r"|be (?:used|cited|trusted|considered|kept|read|ranked|returned|believed|relied))"
    r"|counts|matters|answers|carries the answer|holds the answer)"
)
_PIECE = r"(?:extract|excerpt|passage|snippet|chunk|fragment|candidate|search result)"
_SELF = r"(?:passage|extract|excerpt|snippet|chunk|fragment|paragraph|text|section|candidate|result)"

_OTROS = r"(?:(?:l[oa]s )?(?:demás|otr[oa]s|restantes)|el resto de l[oa]s|(?:todos |todas )?l[oa]s)"
_TROZOS = r"(?:extractos?|fragmentos?|pasajes?|párrafos?|resultados de búsqueda)"
_PARTES = r"(?:secciones|documentos|apartados|textos|páginas|fuentes|candidatos|resultados|artículos)"
_AQUI = (
    r"(?:(?:proporcionad|facilitad|suministrad|mostrad|recuperad|citad|aportad|dad)[oa]s(?! (?:por|a|al"
    r"|en virtud|para)\b)"
    r"|de (?:este|esta|la|el|tu) (?:contexto|lista|prompt|conversación)|del (?:contexto|prompt)"
    r"|que (?:ves|lees|recibes|recibiste|has recibido|se te (?:dan|dieron|muestran)))"
)
_LOS_OTROS = (
    rf"(?:(?:todos |todas )?(?:(?:l[oa]s )?(?:demás|otr[oa]s)|el resto de l[oa]s|todos los|todas las) {_TROZOS}"
    rf"|l[oa]s {_TROZOS} (?:restantes|anteriores|siguientes|posteriores|previos)|l[oa]s restantes {_TROZOS}"
    rf"|{_OTROS} {_PARTES}(?: restantes| anteriores)? {_AQUI})"
)
_SOLO = r"(?:solo|sólo|únicamente|solamente)"
_ESTE = r"(?:pasaje|fragmento|párrafo|extracto|texto|sección|apartado|candidato)"
_NO_VALEN = (
    r"(?:obsolet[oa]s?|desactualizad[oa]s?|anticuad[oa]s?|derogad[oa]s?|caducad[oa]s?|irrelevantes?|inválid[oa]s?"
    r"|erróne[oa]s?|incorrect[oa]s?|fals[oa]s?|nul[oa]s|sin (?:efecto|valor|vigencia|validez)|no (?:son|están|es)"
    r" (?:válid|relevant|fiabl|vigent|aplicabl|correct)\w{1,3}|(?:ya )?no (?:valen|cuentan|sirven|importan|responden"
    r"|se aplican|aplican)|(?:deben?|pueden?|han de) (?:ser )?(?:ignorar|descartar|omitir|ignorad"
    r"|descartad|omitid|excluid"
    r"|rechazad)\w{0,3})"
)
_DESCARTA = (
    r"(?:ignora|ignore|ignorad|ignorar|descarta|descarte|descartad|descartar|omite|omita|omitir|olvida"
    r"|olvide|rechaza|rechace"
    r"|excluye|excluya|no (?:uses?|utilic?es?|leas?|lea|cites?|tengas? en cuenta|consideres?|confíes? en"
    r"|hagas? caso (?:a|de)))"
)


@dataclass(frozen=True, slots=True)
class Sign:
    """One way of talking to a model. ``words`` are those without which the pattern cannot match: looking for
    them first keeps ordinary passages cheap. ``also``: where those are common words, others without which it cannot
    match either. ``after``: what must stand before it."""

    why: str
    words: frozenset[str]
    pattern: re.Pattern[str]
    also: frozenset[str]
    after: re.Pattern[str] | None

    def may_match(self, present: frozenset[str], *, is_ascii: bool) -> bool:
        """Whether the words in a text leave the pattern a chance. Letters beside ASCII may stand for others when case
        does not count (``ſ`` for ``s``), so that such a text is looked at on the first words alone."""
        if self.words.isdisjoint(present):
            return False
        return not (is_ascii and self.also) or not self.also.isdisjoint(present)

    def find(self, text: str) -> str | None:
        """The first words that match, or None."""
        found = self.pattern.search(text)
        while (
            found
            and self.after
            and not self.after.search(text, max(0, found.start() - _BEFORE), found.start())
        ):
            found = self.pattern.search(text, found.start() + 1)
        return found[0] if found else None


def _sign(
    why: str, words: str, pattern: str, *, also: str = "", after: re.Pattern[str] | None = None
) -> Sign:
    compiled = re.compile(pattern, re.DOTALL | re.IGNORECASE)
    return Sign(why, frozenset(words.split()), compiled, frozenset(also.split()), after)


_DROPPING = "tells the reader to drop its instructions"
_SECRETS_WHY = "asks for the instructions or secrets"
_VERDICT_WHY = "dictates the verdict"
_OTHERS_WHY = "judges the other passages"

SIGNS: tuple[Sign, ...] = (
    _sign(
        _DROPPING,
        "ignore ignoren ignores disregard forget override bypass discard skip stop follow obey ignora ignorad ignorar "
        "olvida olvide olvidar descarta descarte descartar desobedece omite omita ignorez oubliez oublie ignoriere "
        "vergiss missachte dimentica ignorate",
        rf"\b(?:(?:{_DROP})\b{_GAP}{{0,60}}\b(?:{_RULES})"
        rf"|do not (?:follow|obey) {_OWN}(?: \w{{1,15}}){{0,2}} (?:{_RULES})|vergiss alles)\b",
        after=_ORDER,
    ),
    _sign(
        _DROPPING,
        "directive directives instruction instructions anweisungen instrucciones istruzioni consignes safety exempt "
        "permission seguridad sicherheitsrichtlinien",
        r"\b(?:new|neue|nuevas?|nuove|nouvelles) "
        r"(?:directives?|instructions?|anweisungen|instrucciones|istruzioni|consignes)\b"
        rf"(?:{_GAP}{{0,40}}(?:supersedes? (?:all|any|your|the) (?:prior|previous|other|earlier)|override)"
        rf"|\s?:\s{{0,3}}\w)"
        r"|\byour (?:new )?(?:directive|instruction)s? (?:is|are|now)\b"
        rf"|\bsafety (?:protocols?|guidelines?|checks?)\b{_GAP}{{0,40}}"
        r"\b(?:disabled|skipp?ed|do(?:es)? not apply here|were not meant)\b"
        r"|\bexempt from the usual (?:rules|restrictions|guidelines|checks)\b"
        r"|\bpermission to skip (?:all|any|the) (?:safety|checks|rules|confirmations)\b"
        rf"|\breglas de seguridad no\b|\bsicherheitsrichtlinien {_GAP}{{0,20}}nicht\b",
    ),
    _sign(
        "gives the reader a new identity",
        "now pretend act mode filters restrictions limits ahora finge jetzt nun sofort keine ora restrizioni "
        "maintenant restricciones",
        r"\b(?:you are now (?:an? )?(?:\w{1,15} )?(?:ai|assistant|bot|dan|model|agent|unrestricted|free"
        r"|in \w{1,12} mode)"
        r"|from now on,? (?:you (?:are|will|must) (?:answer|respond|act|reply|be|ignore|obey|an?)|respond|act|answer)"
        r"|from now on,? you (?:have|are|will|must)"
        r"|pretend (?:to be|you are) (?:an? )?(?:ai|unrestricted|uncensored|evil|different|system"
        r"|root|admin|developer|dan)"
        r"|(?:you have|have|with) (?:no|without) (?:filters|restrictions or|restrictions whatsoever)"
        r"|you (?:now )?have no (?:filters|restrictions|limits|rules)"
        r"|act as (?:an? )?(?:unrestricted|uncensored|different|evil|root|admin|developer|dan)"
        r"|enter (?:developer|debug|god|admin|dan) mode|a partir de ahora (?:eres|actúa)|ahora eres|finge ser"
        r"|du bist (?:jetzt|nun)|ab (?:jetzt|sofort) (?:hast|gibst|bist)|keine regeln|ora sei|senza restrizioni"
        r"|(?:tu es|vous êtes) maintenant|sans restrictions|(?:sin|ninguna) restricciones)\b",
        also="you respond act answer pretend filters restrictions limits mode ahora finge bist ab regeln ora "
        "restrizioni maintenant restricciones",
    ),
    _sign(
        "imitates the marks of a conversation",
        "system assistant override user endoftext inst sys instruction end sistema systemhinweis système reasoning "
        "asistente assistent im",
        r"<\|?/?(?:im_start|im_end|system|assistant|user|endoftext)\|?>|\[/?INST\]|<</?SYS>>"
        r"|###\s{0,3}(?:system|instruction|assistant|end of (?:user )?(?:input|prompt|context))\b"
        r"|---\s{0,3}END OF (?:DOCUMENT|CONTEXT|PROMPT|INPUT)"
        r"|(?:^|[\n\]>.])\s{0,3}(?:\[(?:system|assistant|override)(?: (?:note|prompt|message|override))?\]"
        r"|(?:system|assistant|override) (?:note|prompt|message|override)\s?:"
        rf"|(?:system|assistant|override)\s?:\s{{0,3}}{_GAP}{{0,60}}\b(?:you|your|ignore|disabled|grant|required|call"
        r"|prompt|previous|reply|respond|mode)\b)"
        r"|\b(?:nota d(?:i|el) sistema|systemhinweis|note système)\s?:|\breasoning(?: trace)? \(assistant\)"
        r"|\bas the assistant,? i\b|\bals assistent habe ich\b|\bcomo asistente,? ya\b",
    ),
    _sign(
        "speaks to a language model",
        "ai llm llms model assistant assistants chatbot chatbots bot bots gpt ia modelo asistente assistent assistente "
        "summarize summarise process read answer analyze analyse reply replies response responses tasks memory "
        "summary output generate",
        rf"\b(?:attention|note to|dear|hey|instructions? (?:for|to)|message (?:for|to)|if you are an?|nota para"
        rf"|atención|si eres una?)\b(?:,|:| the| all| any| el| la)?(?: \w{{1,12}})? (?:{_READER})\b"
        r"|\bas an? (?:ai|language) (?:model|assistant)\b"
        r"|\bwhen(?:ever)? you (?:summari[sz]e|process|answer|analy[sz]e) (?:this|the) "
        r"(?:ticket|document|text|e?mail|page|file)\b|\bwhen you (?:read|summari[sz]e) this[ ,]"
        r"|\b(?:every|each|all) (?:future (?:repl(?:y|ies)|responses?|tasks)|reports? you generate)\b"
        rf"|\bsave this\b{_GAP}{{0,30}}\b(?:your|to) memory\b",
        also="attention note dear hey instruction instructions message you nota atención eres ai language future save "
        "your",
    ),
    _sign(
        _SECRETS_WHY,
        "prompt prompts words text istruzioni interne internen donnees données dati",
        rf"\b(?:{_SHOW}|{_SEND}|{_FOREIGN_SHOW})\b{_GAP}{{0,50}}\b(?:{_PROMPT}|{_FOREIGN_SECRETS})\b",
    ),
    _sign(
        _SECRETS_WHY,
        "instructions rules instrucciones",
        rf"\b(?:{_SHOW}) (?:me |us )?(?:all )?(?:your|tus) (?:\w{{1,12}} )?(?:instructions|rules|instrucciones)\b",
        also="your tus",
        after=_ORDER,
    ),
    _sign(
        _SECRETS_WHY,
        "api password passwords credentials environment secrets internal customer contraseña contraseñas credenciales "
        "datos lista",
        rf"\b(?:{_SHOW}|{_SEND}){_OBJECT}(?:{_SECRETS})\b{_OTHER_SUBJECT}",
        also="reveal print printing show repeat output display leak expose dump exfiltrate tell give list muestra "
        "muéstrame revela imprime repite dime lista send email forward envía envíame reenvía manda",
        after=_COMMAND,
    ),
    _sign(
        _VERDICT_WHY,
        "mark rate rank score classify label grade judge treat",
        rf"\b(?:mark|rate|rank|score|classify|label|grade|judge|treat)\b{_GAP}{{0,40}}"
        rf"\b(?:this|these|it|the above|all others?|every other|the others?|the rest|everything else)\b{_GAP}{{0,20}}"
        r"\b(?:as|with|at|to be) (?:an? |the )?(?:primary|relevant|10|ten|highest|top|discarded"
        r"|irrelevant|supporting|tangential)\b",
        also="primary relevant 10 ten highest top discarded irrelevant supporting tangential",
    ),
    _sign(
        _VERDICT_WHY,
        "marca marque clasifica clasifique puntúa califica",
        rf"\b(?:marca|marque|clasifica|clasifique|puntúa|califica)\b{_GAP}{{0,40}}\b(?:est[eao]s?"
        rf"|l[oa]s demás|el resto)\b"
        rf"{_GAP}{{0,30}}\bcomo (?:principal|primari[oa]|relevante|descartad[oa]s?|irrelevantes?|prueba principal)\b",
    ),
    _sign(
        _OTHERS_WHY,
        _PIECE_WORDS,
        rf"\b{_OTHER_PIECES}\b{_GAP}{{0,40}}\b{_WORTHLESS}\b",
    ),
    _sign(
        _OTHERS_WHY,
        _HERE_WORDS,
        rf"\b{_OTHER_PARTS}\b{_GAP}{{0,40}}\b{_WORTHLESS}\b|\bnothing else {_HERE}",
        also=_WORTHLESS_WORDS,
    ),
    _sign(
        _OTHERS_WHY,
        f"{_PIECE_WORDS} {_HERE_WORDS}",
        rf"\b{_DISMISS} (?:\w{{1,12}} ){{0,2}}?(?:{_OTHER_PIECES}|{_OTHER_PARTS})\b",
        also="ignore disregard discard skip reject drop dismiss exclude forget omit leave throw not "
        "never don attention",
        after=_ORDER,
    ),
    _sign(
        _OTHERS_WHY,
        _SELF_WORDS,
        rf"\b(?:only this {_SELF} {_COUNTS}|this {_SELF} alone {_COUNTS}"
        rf"|this (?:{_SELF} )?is the (?:only|sole) (?:\w{{1,15}} )?{_PIECE}"
        rf"|(?:use|cite|trust|rely on|consider|read|quote|return|keep) only (?:on )?this (?:{_SELF}|one)"
        rf"|(?:use|cite|trust|rely|consider|read|quote|return) (?:on )?(?:nothing|no (?:other )?{_PIECES})"
        r" (?:but|except|other than|besides) this)\b",
        also="only alone sole nothing no",
    ),
    _sign(
        _OTHERS_WHY,
        "extractos fragmentos pasajes párrafos resultados secciones documentos apartados textos páginas fuentes "
        "candidatos artículos",
        rf"\b{_LOS_OTROS}\b{_GAP}{{0,40}}\b{_NO_VALEN}\b",
    ),
    _sign(
        _OTHERS_WHY,
        "extractos fragmentos pasajes párrafos resultados secciones documentos apartados textos páginas fuentes "
        "candidatos artículos",
        rf"\b{_DESCARTA} (?:\w{{1,12}} ){{0,2}}?{_LOS_OTROS}\b",
        after=_ORDER,
    ),
    _sign(
        _OTHERS_WHY,
        "pasaje fragmento párrafo extracto texto sección apartado candidato este esta",
        rf"\b(?:{_SOLO} (?:vale|cuenta|sirve|importa|responde|es válid[oa]) est[ea]"
        rf"|{_SOLO} est[ea] {_ESTE} (?:vale|cuenta|sirve|importa|responde|es (?:válid|relevant|vigent"
        rf"|correct|fiabl)\w{{1,3}}"
        r"|debe (?:usarse|citarse|considerarse|leerse|tenerse))"
        rf"|este (?:{_ESTE} )?es el único (?:pasaje|fragmento|extracto|candidato)"
        rf"|(?:usa|use|cita|cite|considera|considere|lee|lea) {_SOLO} est[ea] {_ESTE})\b",
        also="solo sólo únicamente solamente único",
    ),
    _sign(
        "dictates the reply",
        "respond reply replies response responses answer output summary message say write append prepend include begin "
        "end start antwort risposta réponse respuesta",
        r"\b(?:respond|reply|answer|output|say|write|append|prepend|include|begin your|end your|start your)\b"
        rf"{_GAP}{{0,30}}"
        r"\b(?:only with|exactly the|verbatim|the (?:exact )?(?:token|phrase|string)|the verification code"
        r"|with the (?:word|phrase)|your (?:reply|response|answer|output))\b"
        rf"|\b(?:token|code)\b{_GAP}{{0,40}}\b(?:jeder antwort|ogni risposta|chaque réponse|cada respuesta)\b"
        r"|\bappend \S{1,40} to (?:my|your|the) (?:summary|reply|answer)\b"
        r"|\b(?:modify|enhance|augment|change|alter|render|rearrange|scramble|translate|encode|rewrite"
        r"|finish|extend) your"
        r" (?:answer|repl(?:y|ies)|responses?|message|output)\b"
        r"|\b(?:in|to|of|into) your (?:answer|repl(?:y|ies)|responses?|output|summary)(?:['’]s\b|\b)",
        also="only exactly verbatim token code phrase string verification word your append",
    ),
    _sign(
        "asks for a tool to be used",
        "call run execute invoke",
        r"\bcall (?:the )?[a-z]{1,30}_[a-z_]{1,30}\b|\b(?:run|execute|invoke) the (?:tool|function|command)\b",
    ),
    _sign(
        "asks to decode and obey",
        "decode decrypt base64 rot13 descodifica decodifica",
        rf"\b(?:decode|decrypt|base64|rot13|descodifica|decodifica)\b{_GAP}{{0,60}}"
        r"\b(?:follow|do (?:exactly )?what|execute|obey|instructions?|sigue|ejecuta)\b",
    ),
)
