"""Word lists of the question parser, English and Spanish, all our own."""

from __future__ import annotations

import re

_SCOPE = """
paper papers document documents policy policies section sections agreement agreements contract contracts
text file files report reports clause clauses article articles chapter chapters page pages paragraph
paragraphs passage passages excerpt appendix annex filing manual handbook guideline guidelines say says said
saying mention mentions mentioned describe describes described discuss discusses discussed explain explains
explained talk talks tell tells told refer refers referred according regarding concerning relating related
list lists enumerate name summarize summarise summary overview show find identify indicate outline provide
provided provides contain contains contained cover covers stated mean means meaning define defined
definition answer question please assume documento documentos politica política politicas políticas seccion
sección secciones acuerdo acuerdos contrato contratos texto archivo informe informes clausula cláusula
clausulas cláusulas articulo artículo articulos artículos capitulo capítulo pagina página paginas páginas
parrafo párrafo anexo apartado dice dicen decir menciona mencionan describe describen explica explican
indica indican trata habla hablan segun según respecto relativo relativa lista enumera enumere resume resuma
resumen muestra significa define definicion definición establece establecen contiene contienen
"""

#: Words that name the document itself or the act of telling: scope of the question, never keywords.
SCOPE_WORDS: frozenset[str] = frozenset(_SCOPE.split())

_LIGHT = """
use uses used using utilize utilise have has had happen happens happened work works exist exists need needs
want wants take takes taken put puts come comes become becomes know say think seem seems look looks keep
keeps let lets thing things way ways kind kinds type types sort sorts lot usa usan usar utiliza utilizan
utilizar ocurre ocurren pasa pasan existe existen necesita necesitan quiere cosa cosas tipo tipos forma
formas manera maneras
"""

#: Verbs and nouns so light that meeting them on a line proves nothing.
LIGHT_WORDS: frozenset[str] = frozenset(_LIGHT.split())

_VERBS = """
accept achieve acquire address adopt allow allows amend appear apply applies appoint approve arise ask
assess assign assist avoid ban bear become begin believe belong bind bring calculate call cause challenge
change charge choose claim comply conduct conflict consider consist constitute control create decide declare
defend deliver depend derive determine develop differ disclose drive earn employ enable encourage end
enforce ensure enter establish evaluate exceed exclude exercise exist expect expire extend fail feel fight
follow forbid form function govern grant guarantee handle help hold impact implement impose improve include
includes increase influence inform involve issue join lead leave lie lose maintain manage measure meet
monitor move notify obligate obtain occur offer operate organize outlaw outlaws outline owe own participate
pay perform permit permits prevent prohibit prohibits prohibited protect protects punish purchase receive
recommend reduce reflect relate rely remain report represent require requires required reserve resolve
respond restrict result retain return review secure seek sell send serve set share sign specify specifies
start state stop submit supply support survive terminate train treat trust try undertake violate waive watch
write permite permiten exige exigen requiere requieren debe deben prohibe prohíbe prohiben prohíben protege
protegen garantiza garantizan aplica aplican incluye incluyen determina controla gestiona
"""

#: Frequent verbs of questions: content words, but not the noun a question is about.
VERBS: frozenset[str] = frozenset(_VERBS.split())

_BEFORE_VERB = "can could may might must shall should will would to i we you they he she it who not"

#: After one of these a bare word is a verb.
BEFORE_VERB: frozenset[str] = frozenset(_BEFORE_VERB.split())

#: Endings that make a word a noun whatever stands before it.
NOUN_ENDING = re.compile(
    r"(?:tion|sion|ment|ness|ity|ance|ence|ship|ism|ure|age|ies|or|ers?|s|ci[oó]n|dad|miento)\Z"
)

_ORDINALS_EN = """
first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth thirteenth fourteenth
fifteenth sixteenth seventeenth eighteenth nineteenth twentieth
"""
_ORDINALS_ES = "primera segunda tercera cuarta quinta sexta séptima octava novena décima"


def _ordinals() -> dict[str, int]:
    english = {word: number for number, word in enumerate(_ORDINALS_EN.split(), start=1)}
    compound = {f"twenty-{word}": 20 + number for word, number in english.items() if number < 10}
    spanish = {word: number for number, word in enumerate(_ORDINALS_ES.split(), start=1)}
    return english | compound | spanish


#: Ordinal words with their numbers, as in "Fourteenth Amendment".
ORDINALS: dict[str, int] = _ordinals()

#: Kinds of documents a question may limit itself to ("in the policy").
DOCUMENT_TYPES: dict[str, str] = {
    "policy": "policy", "policies": "policy", "política": "policy", "políticas": "policy",
    "contract": "contract", "contracts": "contract", "contrato": "contract", "contratos": "contract",
    "agreement": "contract", "agreements": "contract", "acuerdo": "contract",
    "filing": "filing", "10-k": "filing", "10-q": "filing",
    "handbook": "handbook", "manual": "handbook",
}  # fmt: skip
