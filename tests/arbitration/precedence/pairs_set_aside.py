"""Twenty pairs that were written before the rules of precedence and set aside: they judge the rules and teach them
nothing. All texts are made up."""

from __future__ import annotations

from tests.arbitration.precedence.pairs import Pair, Text

PAIRS: tuple[Pair, ...] = (
    Pair(
        key="loan-margin",
        kind="amendment",
        question="What interest margin applies to the loan?",
        in_force="means 2.75 per cent per annum",
        replaced="means 3.50 per cent per annum",
        documents=(
            Text(
                "facility agreement.md",
                """# Term Facility Agreement

Dated 17 July 2018. Borrower: Alder Shipping AS. Lender: Nordhavn Bank.

## 1 Definitions

"Business Day" means a day on which banks are open in Oslo and London.

"Margin" means 3.50 per cent per annum, being the interest margin on the Loan.

## 5 Repayment

The Borrower shall repay the Loan in twenty equal instalments.
""",
            ),
            Text(
                "second amendment letter.md",
                """# Second Amendment Letter

To Alder Shipping AS, 8 April 2021

We refer to the Term Facility Agreement dated 17 July 2018.

With effect from the interest period that starts on 1 May 2021 the definition of Margin in clause 1 shall be
amended to read: "Margin" means 2.75 per cent per annum, being the interest margin on the Loan.

Please countersign to show your agreement.
""",
            ),
        ),
    ),
    Pair(
        key="supply-delivery",
        kind="amendment",
        question="Within what time must ordered parts be delivered?",
        in_force="Ordered parts shall be delivered within ten working days",
        replaced="The Manufacturer delivers ordered parts within twenty working days",
        documents=(
            Text(
                "framework supply contract.md",
                """# Framework Supply Contract

Signed on 11.03.2019

## Article 4 Orders

Orders are placed through the portal and confirmed within two days.

## Article 5 Delivery

The Manufacturer delivers ordered parts within twenty working days of the order's confirmation.

## Article 6 Acceptance

The Buyer inspects the parts within a week.
""",
            ),
            Text(
                "variation agreement.md",
                """# Variation Agreement

Signed on 30.11.2020 by the parties to the Framework Supply Contract of 11.03.2019

1. The parties vary the Framework Supply Contract as set out below.

2. Article 5 shall cease to apply and the following shall be inserted in its stead: "Ordered parts shall be
delivered within ten working days of the order's confirmation. The Buyer may refuse partial deliveries."
""",
            ),
        ),
    ),
    Pair(
        key="privacy-notice",
        kind="version",
        question="How long is browsing data stored?",
        in_force="Browsing data is erased after thirty days",
        replaced="We store browsing data for thirteen months",
        documents=(
            Text(
                "privacy notice old.md",
                """# Privacy Notice

Last updated: 25 May 2020

## What we collect

We collect your name, your address and browsing data.

## How long we store it

We store browsing data for thirteen months and orders for ten years.
""",
            ),
            Text(
                "privacy notice.md",
                """# Privacy Notice

Last updated: 9 January 2024

## What we collect

We collect your name, your e-mail address and browsing data.

## Storage

Browsing data is erased after thirty days. Orders are stored for ten years because tax law says so.
""",
            ),
        ),
    ),
    Pair(
        key="code-of-conduct-edition",
        kind="version",
        question="When must a conflict of interest be disclosed?",
        in_force="A conflict of interest is disclosed before any decision is taken, and at the latest within five days",
        replaced="A conflict of interest must be disclosed in the annual declaration",
        documents=(
            Text(
                "code 2nd edition.md",
                """# Code of Conduct

Second edition, 2015

## Honesty

We keep honest books.

## Conflicts

A conflict of interest must be disclosed in the annual declaration to the compliance officer.
""",
            ),
            Text(
                "code 3rd edition.md",
                """# Code of Conduct

Third edition, 2021. It takes the place of all earlier editions.

## Honesty

We keep honest books and do not round up.

## Conflicts

A conflict of interest is disclosed before any decision is taken, and at the latest within five days after one
learns of it.
""",
            ),
        ),
    ),
    Pair(
        key="expenses-waiver",
        kind="exception",
        question="Do field engineers need receipts for meals?",
        in_force="Field engineers claim a flat 35 dollars a day for meals and need no receipts",
        replaced="Meals are reimbursed against receipts",
        documents=(
            Text(
                "expense rules.md",
                """# Expense Rules

## Meals

Meals are reimbursed against receipts, up to 40 dollars a day.

## Mileage

Private cars are paid at 55 cents a mile.

## Deadline

Claims are handed in by the tenth of the following month.
""",
            ),
            Text(
                "waiver 2023-07.md",
                """# Waiver 2023-07

Granted by the Finance Director under the Expense Rules.

The requirement of receipts for meals is waived for the field service. Field engineers claim a flat 35 dollars
a day for meals and need no receipts.
""",
            ),
        ),
    ),
    Pair(
        key="visitors-derogation",
        kind="exception",
        question="Must contractors of the fire alarm company be escorted in the server room?",
        in_force="technicians of the fire alarm contractor may enter the server room unescorted",
        replaced="Visitors and contractors are escorted at all times in the server room",
        documents=(
            Text(
                "site access procedure.md",
                """# Site Access Procedure

## 5.1 Badges

Everyone on site wears a badge.

## 5.2 Server room

Visitors and contractors are escorted at all times in the server room.

## 5.3 Deliveries

Deliveries are received at the dock.

## 5.7 Derogations

In derogation from 5.2, technicians of the fire alarm contractor may enter the server room unescorted while
the alarm is sounding.
""",
            ),
        ),
    ),
    Pair(
        key="tenancies-substituted",
        kind="amendment",
        question="How much deposit may a landlord take?",
        in_force="must not require a deposit of more than five weeks' rent",
        replaced="may require a deposit of up to two months' rent",
        documents=(
            Text(
                "Tenancies Act 2002.md",
                """# Residential Tenancies Act 2002

## 11 Written agreement

A tenancy agreement shall be in writing.

## 12 Deposits

A landlord may require a deposit of up to two months' rent, which shall be held in a separate account.

## 13 Inventory

The landlord shall draw up an inventory.
""",
            ),
            Text(
                "Tenancies Amendment Act 2016.md",
                """# Residential Tenancies (Amendment) Act 2016

## 3 Section 12 substituted

Section 12 of the principal Act is repealed and the following section is substituted: "12. A landlord must not
require a deposit of more than five weeks' rent."

## 4 Transitional

A deposit that was lawfully taken before the commencement of this Act may be retained.
""",
            ),
        ),
    ),
    Pair(
        key="bylaw-ceases",
        kind="repeal",
        question="At what hour must pavement cafés close?",
        in_force="Tables on the pavement are cleared by 11 p.m.",
        replaced="Pavement cafés shall close at 9 p.m.",
        documents=(
            Text(
                "street trading bylaw 1997.md",
                """# Street Trading Bylaw 1997

## 2 Licence

A pavement café requires a licence of the Council.

## 3 Hours

Pavement cafés shall close at 9 p.m. on every day of the week.
""",
            ),
            Text(
                "public spaces bylaw 2019.md",
                """# Public Spaces Bylaw 2019

## 9 Cafés

A pavement café needs a permit. Tables on the pavement are cleared by 11 p.m., when the café must close.

## 30 Earlier bylaws

The Street Trading Bylaw 1997 ceases to have effect when this Bylaw enters into force on 1 May 2019.
""",
            ),
        ),
    ),
    Pair(
        key="restated-shareholders",
        kind="version",
        question="What majority is needed to sell the company?",
        in_force="A sale of the Company requires the consent of holders of 75 % of the shares",
        replaced="The Company may be sold with the consent of holders of a simple majority",
        documents=(
            Text(
                "restated shareholders agreement.md",
                """# Second Amended and Restated Shareholders' Agreement

June 30, 2022

This Agreement amends, restates and replaces the Shareholders' Agreement of the Company dated May 2, 2017.

## 4 Reserved matters

A sale of the Company requires the consent of holders of 75 % of the shares.

## 5 Information

Holders of five per cent of the shares receive monthly accounts.
""",
            ),
            Text(
                "shareholders agreement.md",
                """# Shareholders' Agreement

May 2, 2017

## 4 Sale

The Company may be sold with the consent of holders of a simple majority of the shares.

## 5 Information

Holders of ten per cent of the shares receive quarterly accounts.
""",
            ),
        ),
    ),
    Pair(
        key="insurance-endorsement",
        kind="amendment",
        question="What is the deductible for water damage?",
        in_force="The deductible for water damage is $10,000",
        replaced="A deductible of $2,500 applies to water damage",
        documents=(
            Text(
                "property policy.md",
                """# Commercial Property Policy CP-40071

## Section I Property covered

Buildings and contents at the described premises are covered.

## Section II Deductibles

A deductible of $2,500 applies to water damage and of $1,000 to any other loss.

## Section III Exclusions

War, nuclear hazard and gradual deterioration are excluded.
""",
            ),
            Text(
                "endorsement 4.md",
                """# Endorsement 4

THIS ENDORSEMENT CHANGES THE POLICY. PLEASE READ IT CAREFULLY.

Attached to Commercial Property Policy CP-40071, effective 12:01 a.m. on January 1, 2023.

Section II is modified as follows. The deductible for water damage is $10,000 for each occurrence.
""",
            ),
        ),
    ),
    Pair(
        key="tender-corrigendum",
        kind="amendment",
        question="What is the deadline for submitting tenders?",
        in_force="tenders must be submitted by 12 noon on 14 June 2024",
        replaced="Tenders must be submitted by 12 noon on 31 May 2024",
        documents=(
            Text(
                "invitation to tender.md",
                """# Invitation to Tender: School Catering

## 1 Scope

Lunches for eleven schools over four years.

## 2 Submission

Tenders must be submitted by 12 noon on 31 May 2024 through the portal.

## 3 Award

The most economically advantageous tender wins.
""",
            ),
            Text(
                "corrigendum.md",
                """# Corrigendum 1 to the Invitation to Tender: School Catering

Published on 16 May 2024

Point 2, Submission. Instead of the date stated there, tenders must be submitted by 12 noon on 14 June 2024.
""",
            ),
        ),
    ),
    Pair(
        key="ley-derogatoria",
        kind="repeal",
        question="¿Cuál es la multa por verter residuos en el río?",
        in_force="se sanciona con multa de 6.000 a 60.000 euros",
        replaced="será castigado con multa de hasta 1.500 euros",
        documents=(
            Text(
                "Ley 8-1992 de aguas.md",
                """# Ley 8/1992, de protección de las aguas

## Artículo 20. Vertidos

Queda prohibido verter residuos en los ríos.

## Artículo 21. Multas

El que vierta residuos en un río será castigado con multa de hasta 1.500 euros.
""",
            ),
            Text(
                "Ley 3-2015 de residuos.md",
                """# Ley 3/2015, de residuos y vertidos

## Artículo 44. Infracciones graves

El vertido de residuos en un río se sanciona con multa de 6.000 a 60.000 euros.

## Disposición derogatoria única

Queda derogada la Ley 8/1992, de protección de las aguas.
""",
            ),
        ),
    ),
    Pair(
        key="contrato-modificativo",
        kind="amendment",
        question="¿En qué plazo debe pagar el cliente las facturas?",
        in_force="el Cliente pagará las facturas en el plazo de sesenta días",
        replaced="El Cliente pagará las facturas en un plazo de treinta días",
        documents=(
            Text(
                "contrato de mantenimiento.md",
                """# Contrato de mantenimiento

Madrid, 5 de mayo de 2017

## 3. Servicio

El Contratista revisa los ascensores cada mes.

## 4. Pago

El Cliente pagará las facturas en un plazo de treinta días desde su recepción.

## 5. Duración

El contrato dura cinco años.
""",
            ),
            Text(
                "acuerdo modificativo.md",
                """# Acuerdo modificativo del contrato de mantenimiento

Madrid, 20 de junio de 2021

Las partes acuerdan modificar la cláusula 4, que pasa a tener la siguiente redacción: «Desde el 1 de julio de
2021 el Cliente pagará las facturas en el plazo de sesenta días desde su recepción.»
""",
            ),
        ),
    ),
    Pair(
        key="franchise-addendum",
        kind="exception",
        question="May the franchisor end the franchise without cause in Minnesota?",
        in_force="In Minnesota the Franchisor may end the franchise only for good cause",
        replaced="The Franchisor may end the franchise without cause on sixty days' notice",
        documents=(
            Text(
                "franchise agreement.md",
                """# Franchise Agreement

## 15 Fees

The royalty is six per cent of gross sales.

## 16 Termination

The Franchisor may end the franchise without cause on sixty days' notice.

## 17 After termination

The Franchisee removes all signs.
""",
            ),
            Text(
                "state addendum.md",
                """# State Addendum to the Franchise Agreement

## Maryland

Claims under the Maryland law may be brought within three years.

## Minnesota

Section 16 is subject to the law of Minnesota. In Minnesota the Franchisor may end the franchise only for good
cause and on ninety days' notice.
""",
            ),
        ),
    ),
    Pair(
        key="licence-schedule-prevails",
        kind="clause",
        question="On how many computers may the software be installed?",
        in_force="The Software may be installed on forty computers",
        replaced="The Licensee may install the Software on ten computers",
        documents=(
            Text(
                "licence.md",
                """# Software Licence

## 2 Grant

2.1 The Licensee may install the Software on ten computers at its own premises.

2.2 Copies for backup are allowed.

## 8 Order of precedence

8.1 Where a Schedule and the body of this Licence are inconsistent, the Schedule takes precedence.

## Schedule A Licensee's particulars

Licensee: Bramble College. Premises: Hill Road. The Software may be installed on forty computers at these premises.
""",
            ),
        ),
    ),
    Pair(
        key="holiday-becomes",
        kind="clause",
        question="How many days of annual leave do employees get?",
        in_force="the allowance of annual leave becomes 28 days",
        replaced="Full-time employees receive 25 days of annual leave",
        documents=(
            Text(
                "staff handbook.md",
                """# Staff Handbook

## 3 Annual leave

3.1 Full-time employees receive 25 days of annual leave besides public holidays.

3.2 Leave is agreed with the manager.

## 4 Sickness

4.1 Illness is reported before 9 a.m.

## 22 Changes of 2025

22.1 With effect from 1 January 2025, and in place of the figure in 3.1, the allowance of annual leave becomes
28 days for all employees.
""",
            ),
        ),
    ),
    Pair(
        key="settlement-supersedes",
        kind="amendment",
        question="How much does Dorn pay to Hale for the delayed works?",
        in_force="Dorn shall pay to Hale £340,000 for the delayed works",
        replaced="Dorn shall pay to Hale £410,000 for the delayed works",
        documents=(
            Text(
                "heads of terms.txt",
                """Heads of Terms, 2 November 2021
Dorn Construction and Hale Property

1. Payment
Dorn shall pay to Hale £410,000 for the delayed works in two instalments.

2. Confidentiality
The parties keep these terms confidential.
""",
            ),
            Text(
                "settlement deed.txt",
                """Settlement Deed, 20 January 2022
Dorn Construction and Hale Property

1. Settlement sum
Dorn shall pay to Hale £340,000 for the delayed works within fourteen days.

2. Entire agreement
This Deed is the entire agreement of the parties and supersedes the Heads of Terms of 2 November 2021 and all
earlier understandings.
""",
            ),
        ),
    ),
    Pair(
        key="board-revokes",
        kind="repeal",
        question="Up to what amount may the managing director sign alone?",
        in_force="The managing director signs alone up to 250,000 francs",
        replaced="The managing director may sign alone up to 100,000 francs",
        documents=(
            Text(
                "board minutes 2016-03.md",
                """# Minutes of the board, 18 March 2016

## Item 4 Signatures

Decision 2016/9: The managing director may sign alone up to 100,000 francs. Above that two members of the board sign.

## Item 5 Dividend

A dividend of three francs a share is proposed.
""",
            ),
            Text(
                "board minutes 2021-09.md",
                """# Minutes of the board, 10 September 2021

## Item 2 Signatures

Decision 2016/9 is revoked. Decision 2021/22: The managing director signs alone up to 250,000 francs, in
writing or electronically.

## Item 3 Premises

The lease of the third floor is extended.
""",
            ),
        ),
    ),
    Pair(
        key="safety-bulletin",
        kind="version",
        question="At what interval are brake hoses replaced?",
        in_force="Brake hoses are replaced every 24 months",
        replaced="Brake hoses are to be replaced every 36 months",
        documents=(
            Text(
                "SB-2017-03.md",
                """# Safety Bulletin SB-2017-03: Brakes of trailers

Issue date: 6 March 2017

## Inspection

Brake pads are inspected at every service.

## Hoses

Brake hoses are to be replaced every 36 months by a qualified fitter.
""",
            ),
            Text(
                "SB-2020-11.md",
                """# Safety Bulletin SB-2020-11: Brakes of trailers

Issue date: 19 November 2020. Obsoletes SB-2017-03.

## Inspection

Brake pads are inspected at every service and every three months.

## Hoses

Brake hoses are replaced every 24 months by a qualified fitter.
""",
            ),
        ),
    ),
    Pair(
        key="backup-history",
        kind="version",
        question="How often are backups tested?",
        in_force="A restore from backups is tested every month",
        replaced="A restore from backups is tested once a year",
        documents=(
            Text(
                "OPS-12 backup procedure r1.md",
                """# OPS-12 Backup Procedure

Status: obsolete. Rev. 1 of 2018-06-01.

## Schedule

Databases are backed up every night.

## Test

A restore from backups is tested once a year by the operations team.
""",
            ),
            Text(
                "OPS-12 backup procedure r2.md",
                """# OPS-12 Backup Procedure

Status: approved. Rev. 2 of 2022-10-14.

## Schedule

Databases are backed up every hour.

## Test

A restore from backups is tested every month by the operations team and recorded.
""",
            ),
        ),
    ),
)
