"""Function words of English and Spanish: too common to find anything by.

The lists are our own. They hold articles, pronouns, prepositions, conjunctions, auxiliaries and the
question words, and nothing that can carry the subject of a question in a contract or a regulation.
"""

from __future__ import annotations

_ENGLISH = """
a about above after again against all also although am among an and any anybody anyone anything are aren't
as at away be because been before being below between both but by can can't cannot could couldn't did didn't
do does doesn't doing don't done down during each either else ever every everyone everything few for from
further get gets getting given gives giving go goes going got had hadn't has hasn't have haven't having he
her here hers herself him himself his how however i if in into is isn't it it's its itself just let's like
made make makes making many may maybe me might mine more most much must my myself near neither no nobody nor
not nothing now of off often on once one ones only onto or other others our ours ourselves out over own per
please quite rather really same shall she should shouldn't since so some somebody someone something somewhat still
such than that that's the their theirs them themselves then there there's these they this those though
through thus to together too toward towards under until unto up upon us very via was wasn't we were weren't
what what's whatever when whenever where whereas wherever whether which whichever while who whoever whom
whose why will with within without won't would wouldn't yes yet you your yours yourself yourselves
"""

_SPANISH = """
a acaso ademas además ahi ahí ahora al algo alguien algun algún alguna algunas alguno algunos alla allá alli
allí ambas ambos ante antes aquel aquella aquellas aquello aquellos aqui aquí asi así aun aún aunque bajo
bien cabe cada casi como cómo con conmigo contra cual cuál cuales cuáles cualquier cualquiera cuando cuándo
cuanta cuánta cuantas cuántas cuanto cuánto cuantos cuántos de del demas demás dentro desde donde dónde dos
durante e el él ella ellas ello ellos en encima entonces entre era eran eres es esa esas ese eso esos esta
está estaba estaban estamos estan están estar estas estás este esto estos estoy fue fueron ha había habían
haber hace hacen hacer hacia haga han has hasta hay he hemos incluso jamas jamás junto la las le les lo los
luego mas más me mediante menos mi mí mia mía mientras mio mío mis misma mismas mismo mismos mucha muchas
mucho muchos muy nada nadie ni ningun ningún ninguna ninguno no nos nosotras nosotros nuestra nuestras
nuestro nuestros o os otra otras otro otros para pero poca poco por porque pues puede pueden puedo que qué
quien quién quienes quiénes quiza quizá quizas quizás se sea sean ser sera será seran serán si sí sido
siempre sin sino sobre solo sólo somos son soy su sus suya suyo tal tales tambien también tampoco tan tanta
tanto te tendra tendrá tener tengo ti tiene tienen toda todas todavia todavía todo todos tras tu tú tus u un
una unas uno unos usted ustedes va vamos van varias varios vosotros vuestra vuestro y ya yo
"""

STOP_WORDS: dict[str, frozenset[str]] = {
    "en": frozenset(_ENGLISH.split()),
    "es": frozenset(_SPANISH.split()),
}
