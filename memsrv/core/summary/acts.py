"""What a sentence does in a talk: accept, reject, propose, decide, exclude, doubt, joke, correct ... told by its words.

(1) Every list here is one of general wordings in English and Chinese; none names a thing that is talked about.
(2) A negation counts only where it denies something: "no problem", "not sure", "不错", "是不是" deny nothing, and two
    negations in a row ("don't not", "不得不") are none.
(3) All patterns see text as `folded` makes it: one case, plain quotes, ASCII punctuation.
"""

import re
import unicodedata

import regex

from memsrv.core.remembering import remembered

Pattern = re.Pattern[str]

LATIN = r"a-z\u00df-\u00f6\u00f8-\u02af\u1d00-\u1d25\u1e00-\u1eff\u2c60-\u2c7f\ua722-\ua787\ua78b-\ua7ff\uab30-\uab5a"
HAN = r"[々〇〡-〩〸-〻㐀-䶿一-鿿\uf900-\ufad9\U00020000-\U000323af]"
LETTER = r"[^\W\d_]"
"""Small Latin letters, Han characters, letters of any script, as `re` can tell them: it finds lists of words several times as
fast as `regex`, but knows no properties."""


def folded(text: str) -> str:
    """Text in one case and width, with plain apostrophes."""
    return unicodedata.normalize("NFKC", text).casefold().replace("’", "'").replace("‘", "'")


def compiled(pattern: str, flags: int = 0) -> Pattern:
    """A pattern, in which `\\p{L}` and `\\p{Han}` stand for such a character, outside of brackets."""
    return re.compile(pattern.replace(r"\p{L}", LETTER).replace(r"\p{Han}", HAN), flags)


def worded(english: str, chinese: str) -> Pattern:
    """A pattern of English alternatives, as whole words, and Chinese ones. Both in verbose form."""
    return compiled(rf"(?<![{LATIN}\d_'-])(?:{english})(?![{LATIN}\d_])|(?:{chinese})", re.VERBOSE)


# --- answers -------------------------------------------------------------------------------------------------------

SPACE = r"[\s,.!;:~-]"
ACCEPTS = compiled(
    rf"""^(?>(?:oh|omg|wow|ha|lol|aha|ah|well|hmm+|ooh|phew|哈+|哇|嗯+|哦|噢|啊|好吧|那)[\s,.!~]*)*(?:
      (?:(?:yes|yeah|yea|yep|yup|ya|ye[sp]{{1,3}}|sure(?:\ thing)?|ok(?:ay)?|okey|k|kk|fine|alright|all\ right|
      great|perfect|good|cool|nice|excellent|awesome|brilliant|
        lovely|wonderful|deal|agreed|definitely|absolutely|exactly|correct|confirmed|approved|totally|
        of\ course|please\ do|by\ all\ means|
        fair\ enough|makes\ sense|lgtm|\+1|right|true|indeed|yay|wfm|ack|
        (?:that|this|it|which)?\s*(?:'s|is|all)?\s*(?:sounds?|looks?|seems?|works?|would\ work|will\ do|
        would\ be|suits)(?:\ (?:me|us|to\ me|like|like\ a\ plan|for\ (?:me|us)|
          absolutely|really|very|pretty|good|great|fine|nice|perfect|lovely|right|reasonable|ok(?:ay)?|ideal|
          better|best|alright|awesome|excellent))*|
        (?:that|this|it)(?:'s|\ is)\ (?:fine|good|great|perfect|ok(?:ay)?|right|it|the\ one|better|ideal|
        what\ i\ (?:want|meant))(?:\ (?:by|with|for)\ (?:me|us))?|
        go\ (?:for|with)\ (?:it|that|this)|go\ ahead|do\ (?:it|that|so)|let's\ (?:do|go\ with|take|use|try|book|
        keep|make\ it)\ (?:that|it|this|so)|let's\ do\ so|
        (?:i|we)(?:'m|'re|\ am|\ are)?\ (?:in|fine|ok(?:ay)?|happy|good|on\ board|cool)(?:\ with\ (?:that|it|
        this))?|i\ agree|we\ agree|(?:i|we)\ (?:like|love)\ (?:it|that|this)|love\ it|
        (?:book|take|use|order|reserve|schedule|add|keep|pick|choose|ship)\ (?:it|that|this|them|that\ one|this\ one)|
        (?:i|we)'ll\ (?:take|go\ with|do|have|use)\ (?:it|that|this|that\ one|this\ one)|count\ me\ in|
        you\ got\ it|why\ not|👍|👌|✅)
        (?:{SPACE}+|$|(?=[\W_])))+
    | (?:(?:好(?!像|多|几|久|吗|不好|难|贵|吵|累|烦|奇怪|评|处|友|在|玩|吃|看)(?:的|啊|呀|吧|嘞|滴|主意|呢|哒)?|
    行(?!李|程|业|不行|政|为|动|吗)(?:啊|吧|的|呀)?|可以(?!吗|不|用|考|改|试)(?:的|啊|呀)?|没问题|没意见|没毛病|
        (?:那)?就(?:先)?(?:这样|这么(?:办|定|着|做|来)|按(?:这个|这|你说的|您说的)(?:来|办|走|定)?|它|这个|那个|
        用这个|定这个|选这个)(?:了|吧|来)*|成(?!本|员|都|人|功|立|熟)(?:交|啊|吧)?|
        同意|赞成|赞同|确认|确定(?!不)|对(?!不|了|于|方|象|面|比|接|外|内|海|花|青|某)(?:的|啊|呀)?|是的|是啊|
        嗯+|嗯嗯|恩|没错|当然(?:可以|好|要)?|ok(?:ay)?|听你的|听您的|按你说的|按您说的|
        (?:听起来|听着|看起来|这个|这样|那样|挺|很|蛮|也|都|真|我觉得)?(?:不错|挺好|很好|蛮好|可行|合适|
        可以)(?:的|啊|呀|了)?|妥(?:了)?|说定了|定了|定下来|那就这样|要的|要(?=[,.!]|$)|来一?个?吧|安排(?:上|吧)?|必须的|
        准了|通过|收到|好嘞|中|赞|支持(?!者))
        (?:[\s,.!;:~、]+|$|(?=就|那|再|先|把|请|用|选|定|按)))+
    )""",
    re.VERBOSE,
)
REJECTS = compiled(
    r"""^(?:oh\ |hmm+[,\s]*|uh[,\s]*|well[,\s]+|um[,\s]*|ah[,\s]*|ew+[,\s]*|actually[,\s]+|sorry[,\s]+|thanks,?\ but\ |
    honestly[,\s]+)*(?:
      no(?=\s*[,.!;:-]|\s*$|\s+(?:not|don't|i|we|it|that|the|let's|please|thanks|thank|way|need|he|she|they|thx|
      i'd))(?:\ (?:thanks|thank\ you|way|need))?|
      nope|nah|naw|no\ way|not\ really|(?:i'd|i\ would|we'd)\ (?:rather|prefer)\ (?:not|to\ avoid)|rather\ not|
      (?:please\ )?don't(?:\ bother|,|$)|absolutely\ not|definitely\ not|certainly\ not|
      hard\ pass|pass(?=$|[,.!])|forget\ (?:it|that)|skip\ (?:it|that|this)|not\ (?:that|this)(?:\ one)?|
      not\ for\ (?:me|us)|not\ (?:necessary|needed|interested|a\ fan|keen|going\ to\ work|happening)|never|
      (?:i|we)(?:'m|'re|\ am|\ are)\ not\ (?:keen|a\ fan|fond|interested|comfortable|happy|going)|
      (?:that|it|this)\ (?:won't|doesn't|wouldn't|isn't\ going\ to|does\ not|will\ not)\ (?:work|do|fit|suit)|
      (?:that|it)(?:'s|\ is)\ (?:too|way\ too|not|a\ bit)|too\ \w+|
      (?:i|we)\ (?:don't|do\ not)\ (?:think\ so|want|like|need|think\ we)|
      (?:[^\W_]|[' -]){1,40}\ (?:won't|doesn't|wouldn't|does\ not|will\ not)\ (?:work|do|fit|suit)
    )
    | ^(?:哦|呃|额|嗯+|哎|唉|这个|那个|还是|我看|我觉得|谢谢|其实|抱歉|不好意思)?[,\s]*(?:不(?!错|如|过|仅|但|
    知道|好意思|客气|管|一定|太清楚|确定|清楚|用谢|急)|别(?!的|人|忘|墅)|算了|没必要|免了|用不着|拒绝|才不|没兴趣|
    太\p{Han}{1,4}了?|[^,.!]{1,10}(?:不行|不合适|不方便|不考虑|不太好|不要了?|就算了|没空|不在|
    太\p{Han}{1,3}了?)(?=[,.!]|$))
    """,
    re.VERBOSE,
)
DEICTIC = worded(
    r"(?:that|this|it|them|those|these|the\ (?:first|second|third|last|other|former|latter)|that\ one|"
    r"this\ one|option\ [abc123]|both|all\ of\ (?:them|that)|neither|either|one|ones)",
    r"这样|那样|这个|那个|这么|那么|它|前者|后者|第[一二三]个?|都|两个",
)

# --- what is not said in earnest, or not by the one who speaks -----------------------------------------------------

JOKES = worded(
    r"(?:(?:just|only|i'm|i\ was|am)\ )?(?:kidding|joking)|jk|j/k|/s|as\ a\ joke|(?:in\ )?your\ dreams|"
    r"pulling\ your\ leg|not\ seriously|i\ wish(?=[.!]|$)|one\ can\ dream|imagine\ (?:the|if|us|him|her|that)|"
    r"tongue\ in\ cheek|sarcasm",
    r"开个?玩笑|逗你|说笑|闹着玩|瞎说的|玩梗|做梦|说着玩|皮一下|狗头|\[doge\]|反话",
)
LAUGHS = compiled(
    r"(?<!\p{L})(?:(?:ha){2,}h?|ha+h+|lo+l|lmao|rofl|hehe+|heh|hah?a*)(?!\p{L})|哈{2,}|嘿嘿|嘻嘻|笑死|呵呵|"
    r"哈(?=[,.!]|$)|hhh+|2333*|[😂🤣😆😜😝😹]|(?<!\p{L})ha!"
)
WILD = worded(
    r"maybe|might|perhaps|what\ if|imagine|we\ should\ (?:just|all|totally|simply)|let's\ (?:just|all)|"
    r"why\ don't\ we|could\ (?:just|always|also)|next\ (?:thing|you)|or\ (?:we|i|you)\ (?:could|can|just)|"
    r"at\ this\ (?:rate|point)|should\ (?:just|probably)|i'll\ just|soon",
    r"要不|干脆|不如|直接|索性|下次|以后|再不|要是|该不会|难道|是不是(?:还|该|得)",
)
HYPOTHETICAL = worded(
    r"what\ if|imagine|hypothetical(?:ly)?|in\ theory|theoretically|suppose|supposing|if\ (?:i|we|you|he|she|"
    r"they|it|money|this|that)\ (?:were|was|had|hadn't|didn't|could|won\ the)|if\ only|would\ have|"
    r"could\ have|should\ have|might\ have|in\ an\ ideal\ world|in\ a\ perfect\ world|if\ money\ were|i\ wish|"
    r"wish\ (?:i|we)|for\ the\ sake\ of\ argument|one\ day\ (?:i|we)",
    r"假设|假如我|如果当初|要是当初|如果我是|要是我是|要是能|就好了|理论上|打个比方|比方说|设想|想象一下|"
    r"早知道|本来应该|中(?:了)?彩票",
)
PEERS = r"""(?:best\ )?(?:friends?|buddy|mate|pals?|co-?workers?|colleagues?|neighbou?rs?|cousins?|room-?mates?|
    flat-?mates?|classmates?|uncle|aunt|in-laws|ex|competitors?|rivals?|brother(?:-in-law)?|sister(?:-in-law)?|
    nephew|niece|teammates?|guy|dude|girl|lady|somebody|someone|some\ people|people|everyone|everybody|
    other\ (?:team|teams|people|companies|company|group|guys)|another\ (?:team|company|group|customer|client)|they|
    he|she|the\ (?:internet|forum|blog|article|influencer)|
    reddit|twitter|tiktok|youtubers?|influencers?|mother-in-law|father-in-law|boyfriend|girlfriend|grandma|
    grandpa|mum|mom|dad|mother|father|son|daughter|sales\ rep|salesman|a\ \w+\ (?:i|we)\ know)"""
SPEECH = r"""(?:says?|said|saying|thinks?|thought|wants?|wanted|swears?|suggests?|suggested|keeps?\ (?:saying|telling|
    pushing|suggesting)|tells?|told|claims?|claimed|recommends?|recommended|insists?|insisted|plans?|planned|
    is\ planning|are\ planning|is\ going\ to|are\ going\ to|
    would|will|does|did|do|is\ doing|are\ doing|uses?|used|is\ using|are\ using|went|goes|go|bought|buys?|
    launch(?:es|ed)?|is\ launching|took|takes?|tried|tries|prefers?|loves?|mentioned|argues?|proposed|proposes?|
    proposal|advised|reckons?|had|has|have|is|are|was|were|booked|ordered|just|apparently|even|always|actually|
    decided|chose|picked|switched|moved|got|gets|runs?|made|makes?|hates?)"""
QUOTED = worded(
    rf"(?:(?:my|his|her|our|their|one\ of\ (?:my|our)|an?|the|this|that|some)\ )?(?:\w+'s\ )?(?:old\ |former\ |"
    rf"other\ |younger\ |older\ |little\ |big\ )?{PEERS}(?:\ (?:at|from|in|of|on|over|"
    rf"next)\ [\w\ ]{{1,25}}?)?(?:,?\ (?:he|she|they|who|also|still|all|both))?\ {SPEECH}"
    r"|according\ to|i\ (?:heard|read|saw)|rumou?r|word\ is|apparently|supposedly|allegedly|(?:he|she|"
    r"they)\ (?:wants?|says?|said|plan|plans|thinks?|'d|would)|(?:says|said)\ (?:he|she|they)(?:'d|'ll|'s|"
    r"'re)?|swears\ by",
    r"""(?:我|他|她|我们|咱|有|隔壁|楼上|某)?的?(?:一?[个位])?(?:同事|朋友|邻居|隔壁|同学|室友|闺蜜|哥们|兄弟|
    表[哥弟姐妹]|堂[哥弟姐妹]|亲戚|网友|网上|别人|人家|竞品|对手|竞争对手|别的(?:公司|团队|组)|其他(?:公司|团队|组)|
    友商|前任|老同学|发小|舅舅?|叔叔?|姑姑?|阿姨|大爷|姐夫|嫂子|博主|楼主|销售)[^,.!]{0,8}(?:说|想|要|打算|准备|
    计划|建议|推荐|觉得|用|去|买|靠|做|搞|换|上|都|他们|她们|那边|正在|下周|明年|今年|最近|在|也|就|是|有|每)
    | 听说|据说|有人说|网上说|人家说|(?:^|[,.!;\s])(?:他|她|他们|她们)(?:还|就|也)?(?:说|想|要|打算|准备|建议|推荐|觉得|坚持)""",
)
BINDING = worded(
    r"boss|manager|ceo|cto|cfo|doctor|dr\.?|dietician|dietitian|physio(?:therapist)?|nutritionist|dentist|"
    r"cardiologist|pharmacist|legal|lawyer|compliance|security|finance|client|customer|director|landlord|"
    r"lease|airline|hotel|bank|teacher|professor|hr|board|stakeholders?|po|product\ owner|the\ team|"
    r"accountant|vet|regulations?|the\ law|policy|contract|insurance|school|university|embassy|venue",
    r"老板|领导|客户|甲方|医生|大夫|法务|总监|经理|老师|导师|财务|安全部|合规|运维|房东|航空公司|酒店|银行|"
    r"学校|合同|规定|公司(?:规定|要求)|保险|营养师|药师|教练|律师|物业|董事会|产品经理|人事|使馆",
)
ADOPTS = worded(
    r"(?:and\ )?(?:i|we)\ (?:agree|like\ that|think\ (?:so|that's\ right)|'ll\ do\ that)|(?:he|she|they)(?:'s|"
    r"\ is|'re|\ are)\ right|let's\ do\ (?:that|the\ same)|so\ let's|good\ (?:idea|point|call)",
    r"我(?:也)?(?:同意|觉得(?:对|有道理|可以))|有道理|说得对|就(?:听|按)(?:他|她)的|也这么(?:办|做)",
)
ADDRESSES_SUMMARY = worded(
    r"(?:ignore|disregard|forget|override)\ (?:all\ |any\ |the\ |your\ |my\ )*(?:previous|prior|above|earlier|"
    r"preceding|other|system|existing)\b.{0,30}?(?:instructions?|prompts?|rules?|messages?|context|"
    r"directions?)|(?:in|into|to)\ (?:the|your|this|any)\ (?:summary|recap|memory)|^\s*(?:summary|recap|"
    r"tl;?dr|note\ to\ (?:the\ )?(?:summari[sz]er|assistant|model|ai)|system|system\ prompt|assistant)\s*:|"
    r"(?:summari[sz]er|when\ (?:you\ )?summari[sz](?:e|ing)|the\ summary\ (?:must|should|has\ to)|"
    r"you\ are\ now|new\ instructions?|end\ of\ (?:conversation|summary)|<\|?/?(?:system|im_start|im_end|"
    r"endoftext))",
    r"忽略(?:之前|以上|上面|前面|所有|先前|一切)|无视(?:之前|以上|上面|所有)|^\s*(?:总结|摘要|小结|"
    r"系统(?:提示)?|系统消息)\s*:|(?:写进|写入|写到|加到|加进|记进|放进)?(?:总结|摘要)(?:里|中)(?:必须|要|应|"
    r"请)?|(?:总结|摘要)(?:时|的时候)|你现在是|新的?指令",
)

# --- doubt, conditions, questions ----------------------------------------------------------------------------------

UNCERTAIN = worded(
    r"""maybe|perhaps|possibly|might|not\ (?:yet\ |really\ |quite\ |so\ |too\ |100%\ )?(?:sure|certain|decided|
    convinced)|unsure|undecided|(?:still\ )?(?:thinking|debating|wondering|pondering)(?:\ (?:about|of|whether|if|
    over|between))?|let\ me\ (?:think|sleep\ on)|(?:i|we)(?:'ll|\ will)?\ (?:have\ to\ |need\ to\ )?think\ about|
    sleep\ on\ it|we'll\ see|let's\ see|will\ see|tbd|tba|(?:i|we)\ guess\ (?:we|i)\ could|(?:haven't|hasn't|
    not\ yet|have\ not|has\ not)\ (?:yet\ )?(?:decided|made\ up|settled|figured|agreed|been\ decided)|
    don't\ know\ (?:yet|if|whether|which|what|when|how)|no\ idea|up\ in\ the\ air|on\ the\ fence|toying\ with|
    at\ some\ point|some\ ?day|eventually|would\ be\ (?:nice|cool|great|fun)\ (?:to|if|at|some)|nice\ to\ have|
    nice-to-have|(?:could|can)\ (?:also\ |always\ )?(?:be|consider|look)|consider(?:ing)?|leaning\ (?:towards?|to)|
    tempted|down\ the\ (?:road|line)|leave\ (?:that|it|this)\ open|open\ for\ now|
    (?:decide|revisit|discuss|come\ back\ to)\ (?:that\ |this\ |it\ |on\ \w+\ )?(?:later|another\ time|next|
    tomorrow|then|when)|depends|we\ could|i\ could|could\ (?:we|i)|if\ (?:there's|we\ have)\ time|park\ (?:that|it|
    this)|either\ way|tentative(?:ly)?|provisional(?:ly)?|penciled?\ in|probably|likely|half\ a\ mind|
    play(?:ing)?\ with\ the\ idea|a\ thought|just\ (?:an\ idea|thinking|brainstorming|spitballing)|brainstorming""",
    r"""也许|可能|或许|说不定|再看看?(?!书)|再说(?!一遍|明|清)|再想想|再考虑|再议|再定|再商量|没想好|没想清楚|
    考虑(?:一下|考虑|中|下)?(?!到)|不确定|不一定|看情况|看看再|以后(?:可能|也许|再|有机会)|待定|(?:还|暂时|
    都)?没(?:定|想好|决定|确定|最终定)|未定|犹豫|纠结|好像|似乎|估计|到时候再|回头再|先放(?:一)?放|先放着|先搁|
    先不定|有空再|
    没准|保不齐|初步(?:想|打算)|暂时想|在想|想着要不|要不(?!要|是|然)|要么.{0,10}要么|将来|有机会|如果有(?:时间|
    空)|不好说|说不准|拿不准|观望""",
)
DEFERS = worded(
    r"not\ (?:yet\ |really\ |quite\ |so\ )?(?:sure|certain|decided)|undecided|let\ me\ (?:think|sleep)|"
    r"think\ about\ (?:it|that)|sleep\ on\ it|we'll\ see|tbd|haven't\ (?:yet\ )?(?:decided|made)|"
    r"don't\ know\ yet|no\ idea|up\ in\ the\ air|on\ the\ fence|leave\ (?:that|it|this)|open\ for\ now|"
    r"park\ (?:that|it|this)|later|another\ time|get\ back\ to\ you|decide\ (?:that\ |it\ )?(?:later|next|"
    r"tomorrow)|not\ now|maybe",
    r"再看看?|再说|再想想|再考虑|再议|再定|没想好|考虑一下|不确定|待定|没定|没决定|未定|回头|到时候|以后|看情况|不知道|纠结|犹豫",
)
UNRESOLVED = worded(
    r"(?:it|that)\ depends|depends\ on|(?:i'd|i\ would|we'd)\ (?:recommend|suggest)\ (?:checking|asking)|"
    r"not\ (?:sure|certain|decided|clear)|(?:don't|do\ not)\ (?:know|have)|(?:i'll|we'll|let\ me|"
    r"will)\ (?:check|find\ out|look\ into|get\ back|ask|see)|nobody\ (?:yet|knows)|no\ one\ (?:yet|knows)|"
    r"still\ open|tbd|undecided|hard\ to\ say|good\ question|up\ to\ you|worth\ (?:checking|asking|discussing)",
    r"还没定|没定|待定|不确定|不清楚|要看|看预算|看情况|可以考虑|取决于|得问|我去问|查一下|核实|确认一下|"
    r"不好说|问问|待确认|未定|好问题|您(?:来)?决定|你(?:来)?定|您定",
)
CONDITION = worded(
    r"if(?!\ (?:you\ (?:like|want|wish|need|prefer|have\ any|don't\ mind)|needed|necessary|not|so|possible|"
    r"only|anything|i\ remember|i'm\ not\ mistaken))|unless|in\ case|as\ long\ as|provided(?:\ that)?|"
    r"only\ (?:if|when)|once|until|otherwise|whenever|assuming|when",
    r"如果(?!(?:您|你)(?:需要|愿意|想|有))|要是|万一|除非|只要|一旦|假如|倘若|若(?!干)|(?:的话)|否则|不然|"
    r"等到|等.{1,12}(?:再|才|后)|前提",
)
POLITE_IF = worded(
    r"if\ you\ (?:like|want|wish|need|prefer|have\ any|don't\ mind|'d\ like|would\ like|are\ interested)|"
    r"if\ (?:needed|necessary|possible|that\ helps)|let\ me\ know\ if",
    r"如果(?:您|你)?(?:需要|愿意|想|有(?:其他|任何|什么)?(?:问题|需要|需求))|有需要(?:的话)?|需要的话|方便的话",
)
QUESTION_MARK = compiled(r"[?][\s\"')\]!?~。.]*$")
ASKING = compiled(
    r"^(?:(?:and|so|but|ok|okay|hmm|well|also|then|oh|btw|by\ the\ way)[\s,]+)*(?:what(?!ever|\ a\b)|which|"
    r"who|whom|whose|when(?=\ (?:is|are|do|does|did|will|can|should|would|was))|where|why|how(?!ever)|do|does|"
    r"did|is|are|was|were|can|could|should|shall|would|will|have|has)\ "
    r"(?:about\ )?(?:you|we|i|it|that|there|the|a|an|they|he|she|this|any|your|my|our|much|many|long|far|"
    r"often|kind|type|time|day|date|is|are|do|does|did|will|would|should|can|could|size|color|colour|version|"
    r"one|about|else)\b.*$"
    r"|(?:吗|呢|么|什么|怎么样|如何|哪个|哪里|哪天|几点|几号|多少|多久|谁来|是否|行不行|好不好|可不可以|"
    r"能不能|要不要|对不对)[呢啊呀的]*[.\s]*$|^(?:请问|要不要|能不能|可不可以|是不是|有没有|为什么|怎么)",
    re.VERBOSE,
)
WH_QUESTION = compiled(
    r"(?<!\p{L})(?:what(?!\ about|\ if)|which|who|whose|when|where|why|how(?!\ about))(?!\p{L})|什么|"
    r"哪[个里家些天种位边儿]|几[点号天个月位人]|多少|多久|多大|谁|怎么(?!样)|为何|为什么|何时"
)
INFORMATION = compiled(
    r"(?:do|does|did|have|has|is|are|was|were)\ (?:you|your|the|it|there|he|she|they|this|that|any(?:one|"
    r"thing|body)?)(?!\ want|\ prefer|\ like|'d)|any\ (?:allergies|other|preferences|food|dietary|constraints|"
    r"questions)|有没有|有什么|有吗|有无|(?:试|用|去|吃|做|来)过|是不是|是否(?:有|已)|知道|平时|现在"
)
PROPOSES = worded(
    r"""how\ about|what\ about|shall\ (?:we|i)|should\ (?:we|i)|would\ you\ (?:also\ )?(?:like|prefer|want|mind|be)|
    do\ you\ (?:also\ )?(?:want|prefer|need\ me)|want\ (?:me\ )?to|why\ don't\ (?:we|you|i)|(?:we|you|i)\ (?:could|
    can|might)(?:\ (?:also|then|always|instead))?|could\ (?:we|i|you)|can\ (?:we|i)|
    (?:i'd|i\ would|i)\ (?:strongly\ )?(?:suggest|recommend|propose|advise|go\ (?:with|for)|pick|choose|
    opt\ for|lean)|my\ (?:suggestion|recommendation|pick|advice)(?:\ (?:is|would\ be))?|suggestion|i'm\ thinking|
    let's|let\ us|may\ i|perhaps\ we|maybe\ (?:we|you|try)|consider|(?:one|another|an)\ (?:option|idea|alternative|
    possibility)(?:\ (?:is|would\ be))?|option\ [abc123]|alternatively|(?:it|this)\ (?:would|might)\ be\ (?:better|
    best|wise)|what\ if\ we|(?:we|you)\ should|then\ we|recommended""",
    r"建议|推荐|怎么样|如何|要不要|要不(?!是|然)|不如|可以(?:吗|么|的话)|好吗|好么|行吗|行么|可不可以|好不好|"
    r"行不行|是否(?:要|需要|考虑)|需要.{0,12}吗|(?:我们|您|你|咱们?)?(?:也)?可以(?:考虑)?|考虑|那就.{1,20}吧|"
    r"帮(?:您|你).{0,20}吗|的话.{0,10}(?:可以|建议)|倾向",
)
LEADS = compiled(
    r"""^(?:(?:and|so|then|okay|ok|great|sure|alright|got\ it|fair\ enough|understood|in\ that\ case|otherwise|
    alternatively|perhaps|maybe|or|sounds\ good|no\ problem|of\ course|perfect|thanks|noted)[\s,.!:;-]+)*
    (?:how\ about|what\ about|shall\ (?:we|i)|should\ (?:we|i)|would\ you\ (?:also\ )?(?:like|prefer|
    want)(?:\ me)?(?:\ to(?:\ have)?)?|would\ you\ be\ (?:ok|okay|open|interested|happy|fine)\ (?:with|to|in)|
    do\ you\ (?:also\ )?(?:want|prefer|need)(?:\ me)?(?:\ to)?|want\ (?:me\ )?to|why\ don't\ (?:we|you|i)|
     (?:we|you|i)\ (?:could|can|might)(?:\ (?:also|then|always|instead))?|could\ (?:we|i|you)|can\ (?:we|i)|
     (?:i'd|i\ would|i)\ (?:strongly\ )?(?:suggest|recommend|propose|advise)(?:\ (?:that\ )?(?:we|you))?|(?:i'd|
     i\ would)\ (?:go\ with|go\ for|pick|choose|opt\ for)|my\ (?:suggestion|recommendation|pick|advice)(?:\ (?:is|
     would\ be)(?:\ to)?|:)|
     let's|let\ us|may\ i|consider|(?:one|another|an)\ (?:option|idea|alternative)\ (?:is|would\ be)(?:\ to)?|
     what\ if\ we|(?:we|you)\ should|then\ we(?:\ (?:can|could))?)[\s,:]+
    |^(?:(?:好的?|那|嗯|明白|收到|没问题|或者|另外|这样|理解|可以|
    了解)[,\s。.!]*)*(?:我)?(?:们)?(?:的)?(?:(?:您|你|咱们?)?(?:要不要|是否(?:要|需要|考虑)?|可以考虑|需要|不如|
    要不|建议(?:您|你|先|是|用|采用)?|推荐(?:您|你|用|使用|的是)?|可以|考虑|那就|那么|那))[,:\s]*
    """,
    re.VERBOSE,
)
TAILS = compiled(
    r"(?:[,\s]*(?:then|instead|maybe|perhaps|please|for\ you|if\ you\ (?:like|want)|right|ok(?:ay)?|"
    r"would\ that\ work|does\ that\ work|sound\ good|what\ do\ you\ think|thoughts))+[\s?.!]*$|"
    r"[,\s]*(?:怎么样|如何|可以吗|好吗|行吗|可以么|好么|行么|可不可以|好不好|行不行|您看呢?|你看呢?|您觉得呢?|"
    r"你觉得呢?|合适吗|吗|呢|吧|么)+[\s?.!]*$|[\s?.!]+$",
    re.VERBOSE,
)

# --- what is settled -----------------------------------------------------------------------------------------------

DECIDES = worded(
    r"""let's|let\ us|(?:i|we)'?(?:ve|\ have)?\ (?:decided|agreed|chosen|settled|concluded|picked)|decided|
    it's\ (?:decided|settled|final)|(?:i|we)(?:'ll|\ will)\ (?:take|go|use|do|have|keep|stay|fly|stick|start|run|
    put|make|need|pay|move|book|switch|ship|launch|meet|drop|set|only|call|host|call|store|deploy|release|send|buy|
    order|hire|cook|serve|paint|travel|drive|leave)|go(?:ing)?\ (?:with|for)|went\ with|we\ go|
    stick(?:ing)?\ (?:with|to)|settle(?:d)?\ (?:on|for)|
    (?:we|i)(?:'re|'m|\ are|\ am)\ (?:going|using|taking|keeping|sticking|doing|moving|switching|flying|booking|
    staying|launching|shipping|building)|final(?:ised|ized|ly)?(?:\ (?:answer|decision|choice|call))?|confirm(?:ed|
    ing)?|book(?:ed)?|it\ is(?=[.!,]|$)|it's\ going\ to\ be|make\ it|make\ that|approved|agreed|locked\ in|
    lock\ (?:it|that|in)|sign(?:ed)?\ off|the\ plan\ is|plan:|decision:|decided:|(?:i|we)\ (?:choose|pick|want|
    prefer|need|require|chose|picked)|i'd\ (?:like|prefer|rather)|we'd\ (?:like|prefer|rather)|my\ (?:choice|pick)|
    enough\ for\ (?:us|me)|is\ (?:enough|fine|sufficient)|takes?\ over|will\ be|is\ set\ (?:to|for)|is\ scheduled|
    scheduled\ for|(?:should|shall)\ (?:run|be|have|use|go|start|support|include|cover|last|contain|send|show|take|
    only)|(?:have|has)\ to|please|instead|(?:works|better|best)\ for\ (?:me|us)|are\ better|is\ better|reports?\ to|
    is\ responsible|in\ charge|change\ (?:it|that|the)|switch\ (?:it|that|the|to)|actually""",
    r"""定(?:在|为|了|下来|好|成|个|到)|就(?:先)?(?:用|选|定|按|走|住|买|订|要|去|做|放|投|找|吃|坐|叫|请|改|换|写|发|
    这|它|让|从|以|给)|决定|确定|确认|敲定|说好|约好|选定|选(?:了|择|用)?|采用|改(?:成|为|到|用|在|回|去)|换(?:成|
    为|到|用)|用(?=\p{Han}|[a-z\s])|住(?=\p{Han})|还是.{1,16}(?:吧|好|算了)|吧(?=[,.!]|$)|必须|一定要|务必|需要|
    得(?=\p{Han})|要(?!不|是|求不|么)|统一|固定|保留|加(?:上|到|个|一)|设(?:为|成|置|定)?|安排|分配|负责|
    由.{1,10}(?:来|做|负责|担任|审批|审|批|写)|最终|拍板|通过|同意|订(?:了|好|在|的)|买(?:了)?|预约|提前(?:到|至)?|
    推迟(?:到|至)?|延(?:后|期)(?:到|至)?|控制在|请(?!问|客)|按照?|只(?:做|用|投|要|发|走|收|选|买|去|吃|支持|保留|
    留)|先(?:做|用|走|设|住|去|按)""",
)
FIRM = worded(
    r"let's|(?:i|we)'?(?:ve|\ have)?\ (?:decided|agreed|chosen|settled)|decided|go(?:ing)?\ with|we\ go|"
    r"stick(?:ing)?\ (?:with|to)|settled?\ (?:on|for)|final|confirmed|book|it\ is|make\ (?:it|that)|approved|"
    r"locked\ in|(?:i|we)\ (?:choose|pick)|we(?:'ll|\ will)|we(?:'re|\ are)\ (?:going|using)|must(?!\ (?:have|"
    r"be\ (?:so|tough|hard|great|amazing|nice)))|"
    r"non-negotiable|takes?\ over|instead|have\ to|has\ to|enough\ for|should|we\ (?:want|need)",
    r"定(?:在|为|了|下来|好)|就(?:用|选|定|按|住|要|去|做|这)|决定|确定|确认|敲定|说好|改(?:成|为|到|用)|"
    r"换(?:成|为)|必须|一定要|务必|统一|还是.{1,16}吧|最终|负责|只(?:做|用|投|要|发)|吧(?=[,.!]|$)|用",
)
IMPERATIVE = compiled(
    r"^(?:(?:and|also|then|so|please|pls|plz|ok|okay|just|actually|oh|btw|but|plus|first|next|finally|yes|"
    r"yeah|hmm|well|sorry|fine)[\s,.:]+)*(?:do\ )?(?:use|go|make|set|put|keep|add|book|take|pick|choose|send|"
    r"move|change|switch|start|write|include|give|get|order|buy|call|schedule|leave|run|deploy|limit|cap|"
    r"stick|build|split|store|log|reserve|assign|let|bring|ask|tell|remind|create|rename|update|raise|lower|"
    r"increase|decrease|reduce|cut|double|focus|follow|prioriti[sz]e|ship|support|return|treat|format|name|"
    r"label|merge|push|pin|target|allow|restrict|show|hide|sort|round|tag|translate|invite|pay|round|plan|"
    r"list|mark|save|replace|restore|revert|enable|disable|forget|turn|stay|only|always|allocate|deliver|"
    r"email|text|contact|postpone|extend|shorten|mount|paint|serve|print|open|close|wait|back\ to)(?=\ |$|,)"
    r"|^(?:(?:那|另外|还有|然后|先|再|好|嗯|对了|麻烦|请|帮我|记得)[,\s]*)*(?:把|将|用|选|改|换|加|设|按|住|"
    r"订|买|走|放|保留|找|投|发|写|请(?!问)|统一|控制|安排|麻烦|只|给|先|让|从|每)",
    re.VERBOSE,
)
REQUIRES = worded(
    r"must|have\ to|has\ to|needs?\ to\ be|non-negotiable|mandatory|required?|requirement|at\ (?:most|least)|"
    r"no\ (?:more|less|later|earlier|longer|bigger|fewer)\ than|not\ (?:more|less|later|earlier|a\ penny|"
    r"exceed)|max(?:imum)?|min(?:imum)?|up\ to|under(?=\ [\d$€£])|below|cap(?:ped)?|limit(?:ed)?|budget|"
    r"deadline|only|strictly|always|within|by(?=\ (?:monday|tuesday|wednesday|thursday|friday|saturday|sunday|"
    r"the\ end|\d|jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec|next|tomorrow|noon))|vegetarian|vegan|halal|"
    r"kosher|gluten|lactose|wheelchair|off-limits|ceiling",
    r"必须|务必|一定要|只能|只(?:做|用|要|吃|支持)|至少|至多|最多|最少|最晚|最迟|不超过|不超|以内|之内|以下|"
    r"上限|下限|预算|截止|限制|限于|要求|不低于|不少于|不多于|素食|清真|之前(?:完成|交|上线|到)|控制在",
)
TODO = worded(
    r"to-?do|action\ item|(?:need|needs|have|has)\ to\ (?:ask|check|find|call|email|buy|book|confirm|send|"
    r"write|get|sign|renew|talk|contact|follow|verify|test|fix|look|order|pick|clarify|figure|decide|prepare|"
    r"submit|schedule)|(?:someone|somebody|one\ of\ us)\ (?:has|needs|should|must)|remember\ to|remind\ me|"
    r"don't\ (?:let\ me\ )?forget|do\ not\ forget|follow[\s-]up|pending|waiting\ (?:for|on)|still\ (?:need|"
    r"have|has|waiting|missing|open|outstanding|to\ (?:do|decide))|(?:i'll|i\ will|we'll|will|i\ should|"
    r"we\ should|let\ me)\ (?:ask|check|call|email|confirm|find\ out|look\ into|get\ back|talk|verify|clarify|"
    r"contact|send\ you|follow|double-check|let\ you\ know|investigate)|open\ (?:point|question|issue|item)|"
    r"outstanding|(?:haven't|hasn't|not)\ .{0,20}yet|next\ step",
    r"待办|还(?:没|未|要|得|需要?)(?:有人)?(?!有吗)|得(?:去|先)?(?:问|查|找|确认|联系|看|买|补|跟)|记得|"
    r"别忘(?:了|记)?|不要忘|提醒我|要(?:去|先)?(?:问|查|确认|联系|跟进|核实)|等.{1,12}(?:回复|回信|消息|确认|"
    r"通知|批|结果)|回头|稍后|我(?:去|来)?(?:问|查|联系|确认|跟进)(?:一?下|问)?|需要(?:再)?确认|待确认|跟进|"
    r"未完成|没人(?:负责)?|下一步|遗留",
)
DONE = worded(
    r"(?:is|are|was|it's|that's|all|got\ it|already|'s)\ (?:all\ |now\ |already\ )?(?:done|finished|"
    r"completed?|sorted|fixed|resolved|settled|handled|taken\ care\ of|sent|paid|booked|ordered|signed|ready)|"
    r"done(?=[\s.!,]|$)|took\ care|taken\ care|(?:i|we|he|she|they)(?:'ve|\ have|'s|\ has)?\ (?:already\ |"
    r"just\ |finally\ |now\ )?(?:asked|finished|completed|sent|fixed|booked|bought|sorted|signed|paid|called|"
    r"emailed|checked|confirmed|written|wrote|ordered|talked|spoke|submitted|renewed|merged|deployed|resolved|"
    r"heard\ back)|no\ longer\ (?:open|needed|an\ issue)|works\ now|solved",
    r"搞定|完成了?|(?:买|办|做|弄|写|改|订|约|谈|问|发|修|配|装|交|签|处理|解决|联系|确认|安排|测|寄|付)(?:好|"
    r"完|过|妥|清楚|掉)了?|已经?.{0,6}(?:了|好|完|过)|解决了|好了(?=[,.!]|$)|不用(?:再)?(?:问|管|办)了|完事",
)
PROGRESS = worded(
    r"currently|in\ progress|so\ far|right\ now|at\ the\ moment|halfway|half\ way|ongoing|working\ on|now\ at|"
    r"at\ step|step\ \d|(?:i'm|we're|i\ am|we\ are)\ (?:at|on|in|done|stuck|waiting|still|currently|now|"
    r"blocked|ready|almost|about)|(?:i've|we've|i\ have|we\ have)\ (?:just\ |already\ )?(?:finished|done|"
    r"completed|started|set\ up|installed|tried|sent|booked|written|merged|deployed)|blocked|stuck|done\ with|"
    r"next\ up|status",
    r"目前|正在|进行中|进度|已经|刚刚?(?:完成|做|写|改|弄|收到|买)|卡在|做到|完成了|还在|现在(?:是|在|到|卡)|"
    r"阶段|第.{1,3}步|差不多(?:了|完)",
)
GOALS = worded(
    r"(?:i|we)(?:'m|'re|\ am|\ are)?\ (?:want|need|would\ like|like|plan|hope|aim|try|intend|planning|trying|"
    r"looking|hoping|working\ on|thinking\ about|building|redoing|organi[sz]ing|preparing|setting\ up|moving|"
    r"writing|designing|launching|migrating|about)|i'd\ like|we'd\ like|help(?:\ me|\ us)?\ (?:with|to|plan|"
    r"find|write|choose|fix|build|set|decide|me|us|prepare)|need\ (?:some\ |your\ )?(?:help|advice)|"
    r"can\ you\ help|could\ you\ help|looking\ (?:for|to)|planning|requirements?\ for|goal|objective|aim\ is|"
    r"let's\ (?:plan|talk|work|design|start|build|sort|discuss)|(?:it's|this\ is)\ about|about\ the|project|"
    r"redo(?:ing)?|task",
    r"帮(?:我|忙|我们)|想(?:要|请|在|带|去|做|换|买|学|找|把|给|让|咨询|问|规划|重|开|搞|减|办)|我?们?要(?:做|"
    r"办|搞|写|开|去|上|搬|装|把|买|给)|需要(?:做|帮|一个|您|你)|规划|打算|准备|计划|咨询|请教|目标|项目|需求|"
    r"策划|方案|关于|聊聊|商量|讨论|定一下|理一下|梳理",
)
NEW_GOAL = worded(
    r"new\ (?:goal|topic|project|task)|(?:the|our|my)\ goal\ (?:is|has)\ (?:now|changed)|goal\ changed|"
    r"change\ of\ plans?|different\ (?:topic|question|goal)|move\ on\ to|let's\ (?:talk\ about|turn\ to|"
    r"switch\ to)\ (?:something|another|the\ next)|next\ (?:topic|project)",
    r"换个话题|新的?目标|目标(?:改|变|换)|接下来(?:我们)?(?:聊|说|做|讨论)|下一个(?:话题|项目|任务)|另一件事|"
    r"现在(?:我们)?(?:来)?(?:聊|说|讨论)",
)

# --- change ---------------------------------------------------------------------------------------------------------

CORRECTS = worded(
    r"actually|instead|rather(?!\ not)|on\ second\ thoughts?|scratch\ that|no\ wait|wait|sorry|correction|"
    r"corrected?|i\ meant|meant|change[ds]?(?:\ (?:it|that|of|to|my|the|our))?|changed|switch(?:ed|ing)?|"
    r"move[ds]?\ (?:it|that|us|the|to|from|back|up)|make\ (?:it|that)|update[ds]?|now|no\ longer|"
    r"not\ any\ ?more|went\ (?:up|down)|gone\ up|grew|increase[ds]?|raised?|lower(?:ed)?|reduced?|bump(?:ed)?|"
    r"drop(?:ped)?|cut|postponed?|pushed|delayed|brought\ forward|rescheduled|replace[ds]?|reconsidered|"
    r"reconsider|revis(?:ed|e)|turns\ out|better|typo|my\ mistake|mistake|wrong|after\ all|forget\ (?:the|"
    r"what|that|about)|scrap|never\ ?mind|back\ to|revert|undo|cancel(?:led|ed)?|overrul(?:ed|e)|different|"
    r"slip(?:ped|s)?|extend(?:ed)?|shift(?:ed)?|prefer|new|do\ (?:include|add|want|use|put|keep|need|have|"
    r"allow)",
    r"改(?:成|为|到|用|在|回|签|一下|了|主意|期|约)?|换(?:成|为|到|个|回|了)?|还是(?!没)|等等|等一下|不对|"
    r"更正|说错|写错|搞错|弄错|错了|更新|变(?:成|更|了)|调(?:整|到|成|为|高|低)|加到|减到|增加|减少|提前|推迟|"
    r"延后|延期|改主意|算了|取消|不用了|重新|反悔|其实|现在(?:是|改|变)|取代|替换|作废|之前说的|刚才说的|"
    r"原来的|恢复|升级|降到|涨到|提高|降低|缩短|延长|放宽|收紧",
)
SLIPS = worded(
    r"no\ wait|wait|sorry|actually\ no|scratch\ that|i\ mean|i\ meant|correction|make\ that|no,",
    r"不对|等等|说错|写错|搞错|更正|应该是|哦不",
)
SUBSTITUTES = worded(
    r"instead|rather(?!\ not)|on\ second\ thoughts?|scratch\ that|no\ wait|change[ds]?|switch(?:ed|ing)?|"
    r"replac\w+|after\ all|reconsider\w*|better|back\ to|scrap|forget|prefer|take|naive|wrong",
    r"改(?:成|为|到|用|回)|换(?:成|为|到|回)?|还是|不对|更正|取代|替换|代替|算了|改主意|重新",
)
CANCELS = worded(
    r"scrap|cancel(?:led|ed)?|drop(?:ping)?|forget\ (?:about\ )?(?!to)|never\ ?mind|scratch|ditch|(?:is|are|"
    r"it's|that's)\ off(?!\s*\d)|no\ longer|call(?:ed)?\ off|abandon|toss|kill|strike|undo|leave\ out|"
    r"take\ out|remove|get\ rid\ of",
    r"取消|作废|算了|不(?:做|要|去|用|买|搞|弄|办|投|订)了|去掉|删(?:掉|了|除)|砍掉|撤(?:了|销|回)|放弃|"
    r"别(?:做|弄|搞|买|去|用)了|不作数|推翻",
)
RESTORES = worded(
    r"(?:go|going|went|get|move|switch|change|come|let's\ go)?\ ?back\ to|revert(?:\ to)?|restore|reinstate|"
    r"(?:the|our|my)\ (?:original|first|initial|previous|old|earlier|former)\ (?:plan|idea|choice|option|"
    r"version|date|one|setting|value|decision|proposal|number|time|approach)|as\ (?:originally|before|"
    r"first)\ (?:planned|agreed|discussed)|as\ before|after\ all|undo\ that|keep\ it\ as\ (?:it\ was|before)|"
    r"like\ before",
    r"变回|按原来|原来的|原(?:方案|计划|定|先|版)|原方案|恢复|改回|换回|回到|退回|还原|照旧|还是按(?:之前|原|"
    r"最初|第一)|用回|按(?:之前|最初|第一[版次个])|还是(?:之前|最初|第一)|一开始的|最早的|撤回刚才|不改了|"
    r"维持原",
)
FIRST_PLAN = worded(r"first|original(?:ly)?|initial", r"原|最初|第一|一开始|最早")

# --- negation ------------------------------------------------------------------------------------------------------

DOUBLE = worded(
    r"(?:don't|do\ not|doesn't|didn't|can't|cannot|won't|not|never|isn't|it's\ not\ that\ (?:i|we)\ (?:don't)|"
    r"not\ that\ (?:i|we|i'm|we're))\ (?:\w+\ ){0,3}?(?:not|without|against|don't|no|un(?:happy|willing|able|"
    r"necessary|like\w*))|not\ (?:un|im|in)\w+|no\ (?:reason|need)\ not\ to|can't\ (?:do\ without|skip|"
    r"go\ without)|it's\ not\ that\ (?:i|we)\ don't|not\ that\ (?:i|we)(?:'m|'re)?\ (?:against|don't)",
    r"不得不|不能不|不会不|不可能不|没有不|无不|不是(?:说)?不(?:想|要|能|行|可以|喜欢|同意|做|用|去)|"
    r"非.{1,8}不可|不可不|不无|并非不|不是没有?|未尝不|并不是不|不要不|别不",
)
HARMLESS = worded(
    r"long\ time\ no\ (?:see|talk|chat|speak)|can't\ (?:agree\ more|beat|thank)|never\ forget|couldn't\ have\ (?:done|asked)|"
    r"no\ (?:problem|worries|doubt|wonder|idea|rush|hurry|matter|pressure|kidding|biggie|offen[cs]e)|"
    r"not\ (?:only|just|bad|to\ mention|sure|certain|too\ bad|that\ (?:it|i|we)|yet|now|really\ sure|"
    r"quite\ sure)|why\ not|or\ not|if\ not|whether\ or\ not|(?:don't|do\ not)\ (?:know|worry|mind|forget|"
    r"hesitate|get\ me\ wrong|think\ so|remember|understand|have\ (?:any|a)\ (?:questions?|preference|"
    r"strong))|can't\ (?:wait|remember|find|tell|see|believe|decide|thank)|couldn't\ (?:agree|be|find)|"
    r"never\ ?mind|nothing\ (?:else|wrong|special|much|to\ worry)|isn't\ it|doesn't\ it|don't\ you|"
    r"aren't\ (?:they|we|you)|won't\ (?:it|you|be\ long)|(?:didn't|doesn't|don't|not|isn't|wasn't|"
    r"hasn't)\ (?:help|working|fix|know|sure|realise|realize|hear|see|get)|no\ one\ knows|not\ at\ all|"
    r"(?:hasn't|haven't|not)\ (?:\w+\ ){0,3}yet|no\ (?:more|less|later|earlier|fewer)\ than\ (?=\d)|"
    r"nothing\ yet|without\ (?:a\ )?(?:doubt|problem)|not\ (?:finished|ready|done)|isn't\ (?:finished|ready|"
    r"done|clear)|cut\ off|(?:it|that|this)\ (?:never|didn't|doesn't|won't)|no(?=\s*[,.!:])|except\ for\ that",
    r"不错|不过|不仅|不但|不光|不管|不论|不如|不好意思|不客气|不用谢|不知道|不确定|不一定|不久|不断|不同|"
    r"不少(?!于)|不太确定|不清楚|差不多|说不定|只不过|了不起|对不起|没关系|没问题|没事|没错|没意见|没想到|"
    r"没准|没毛病|(?:还|都|暂时)?没(?:想好|决定|定|有定|来得及|收到|到|出|完|空)|有没有|"
    r"能不能|可不可以|要不(?:要|然)?|是不是|好不好|对不对|特别|别的|别人|别忘|别墅|别担心|别急|分别|区别|级别|"
    r"类别|性别|个别|告别|识别|无论|无线|无所谓|无聊|无锡|非常|除非|未来|未必|不得(?:了|不)|不见不散|"
    r"不在(?!用|支)|不急|不妨|不止|不愧|不然|不禁|不至于|不懂|充不|用不(?:了多|上多)|不对|不是很清楚|没(?:用|"
    r"效果|反应|试)|不停|不管用|不好说|不太清楚|免费|不超过|不低于|不少于|不多于",
)
NEGATES = worded(
    r"no|not|never|none|neither|nor|without|cannot|\p{L}+n't|dont|cant|wont|doesnt|didnt|shouldnt|avoid\w*|"
    r"exclud\w+|except|skip\w*|ruled?\ out|out\ of\ scope|off\ the\ table|off[\s-]limits|leave\ out|"
    r"stay\ away|keep\ away|keep\ out|allergic|allergy|allergies|intolerant|intolerance|forbid\w*|forbidden|"
    r"prohibit\w*|ban(?:ned)?|refuse[sd]?|reject\w*|drop(?:ping|ped)?\ (?:the|that|it)|anything\ but|hates?|"
    r"can't\ stand|against|instead\ of|rather\ than|opt\ out|no-go|dealbreaker|deal-breaker|veto\w*|cancel\w*|"
    r"scrap\w*|ditch\w*|remove[sd]?|free\ of|\w+-free|nothing|too\ (?:expensive|pricey|risky|slow|far|heavy|"
    r"loud|complex|complicated|big|small|late|early|much)|stay\ off|hands\ off|forget\ (?:about\ )?(?!to|it|"
    r"that)\w+|rather\ not|quit|stop\ (?:using|sending|the)|pass\ on|minus",
    r"不|没|别|勿|莫|无(?!线)|非(?!常|洲)|禁|忌|排除|取消|放弃|拒绝|避免|避开|过敏|免(?!费)|未|否决|除外|除了|"
    r"砍掉|去掉|删掉|甭|讨厌|受不了|反对|杜绝|绝不|算了|太(?:贵|吵|远|重|慢|复杂|麻烦|累|晚|早|高|危险)|"
    r"而不是|而非|以外|禁止|停用|弃用|戒",
)
EXCLUDES = worded(
    r"no|never|without|cannot|can't|cant|won't|wont|don't|dont|do\ not|must\ not|mustn't|shouldn't|"
    r"should\ not|may\ not|not\ (?:the|a|an|going|allowed|to|want|on|in|at|for|that|this|more|any|allergic|"
    r"\p{L}+)|avoid\w*|exclud\w+|except|skip\w*|rul(?:ed?|ing)\ .{0,10}out|out\ of\ scope|off\ the\ table|"
    r"off[\s-]limits|leave\ .{0,15}out|stay\ away|keep\ .{0,12}(?:away|out)|allerg(?:ic|y|ies)|intoleran(?:t|"
    r"ce)|forbid\w*|forbidden|prohibit\w*|ban(?:ned)?|refuse[sd]?|reject\w*|anything\ but|hates?|can't\ stand|"
    r"against|instead\ of|rather\ than|rather\ not|no-go|deal-?breaker|veto\w*|cancel\w*|scrap|ditch|"
    r"too\ (?:expensive|pricey|risky|far|heavy|loud|complicated)|hands\ off|forget\ (?:about\ )?(?!to|it)\w+|"
    r"isn't|aren't|doesn't|neither|none|nothing|pass\ on|stop|drop|remove|\w+-free",
    r"不(?:要|用|想|能|可|准|许|得(?!了)|吃|喝|去|坐|住|做|买|考虑|接受|支持|走|选|会|再|碰|行|订|投|带|放|请|"
    r"发|打|爬|跑|动|包|含|需|必|允|加|写|改|收|穿|看|玩|适|喜|爱|需要|超|设|提供|存|保留|上|算|安排|涉及|开|"
    r"让|给|留|跟|在.{0,6}(?:范围|考虑)|采用|建议|换|退|换货|报|参加|参与|进|碰|抽|熬|沾|是)|别|勿|禁|忌|排除|"
    r"取消|放弃|拒绝|避免|避开|过敏|免(?!费)|否决|除外|除了|砍掉|去掉|删掉|甭|讨厌|受不了|反对|杜绝|算了|"
    r"太(?:贵|吵|远|重|高|麻烦|复杂|危险)|而不是|而非|没必要|无需|无须|弃用|戒",
)
PRONOUN = compiled(
    r"^(?:(?:that|this|it|those|these|them|the\ (?:other|first|second|third|former|latter|last|same)|both|"
    r"neither|either|one|another|he|she|they)(?:\ one|\ ones|\ option)?|这个|那个|这样|那样|它|前者|后者|"
    r"第[一二三四]个?|他|她|他们|两个都|都)(?!\p{L})",
    re.VERBOSE,
)
FIRST_PERSON = compiled(r"(?<!\p{L})(?<!')(?:i|i'm|i've|i'd|i'll|me|my|mine|myself)(?!\p{L})|我(?!们)|俺|本人")
SMALL_TALK = compiled(
    r"""^(?>(?:thanks?(?:\ (?:you|so\ much|a\ lot|again))?|thx|ty|cheers|hi|hello|hey|good\ (?:morning|evening|
    afternoon|night)|bye|goodbye|see\ (?:you|ya)|take\ care|you're\ welcome|welcome|no\ problem|no\ worries|
    my\ pleasure|anytime|happy\ to\ help|glad\ to\ help|great|perfect|awesome|cool|nice|wow|lovely|excellent|
    sounds\ (?:good|great|fun|lovely)|sure|ok(?:ay)?|got\ it|noted|understood|will\ do|done|of\ course|
      sorry(?:\ (?:about|for|to\ hear)\ (?:that|this))?|have\ a\ (?:nice|good|great)\ (?:day|one|weekend|
      evening|time)|talk\ (?:later|soon)|how\ are\ you(?:\ (?:doing|today))?|good\ luck|congrat\w*|haha+|lol|ha|there|
      everyone|all|team|again|so\ much|very\ much|interesting|bold|clear|fair\ enough|good\ (?:rule|question|choice|
      idea|point)|exactly|right|alright|hmm+|yes|no)[\s,.!?~:)-]*)+$
    |^(?:(?:你好|您好|嗨|哈喽|早上好|下午好|晚上好|早|晚安|谢谢(?:你|您|啦|了)?|多谢|感谢(?:您|你)?|辛苦了?|
    不客气|不用谢|再见|拜拜|回见|没事|没关系|好的?(?:呀|啊|吧|嘞)?|嗯++|哦++|哈++|收到|明白了?|了解了?|知道了|记住了|
    记下了|没问题|行|可以|加油|很高兴[^,.]{0,10}|请说|请讲|当然|抱歉|对不起|不好意思|祝[^,.]{0,12}|随时(?:找我|联系|
    和我说)?|真(?:棒|好|不错)|太好了|有意思|确实|是的|对)[\s,.!?~、]*)+$""",
    re.VERBOSE,
)
ACKNOWLEDGES = compiled(
    r"""^(?:(?:got\ it|noted|understood|ok(?:ay)?|sure(?:\ thing)?|great|perfect|done|updated|corrected|clear|alright|
    all\ right|right|will\ do|of\ course|fine|sounds\ good|good|roger|excellent|fair\ enough|absolutely|certainly|
    no\ problem|confirmed|changed|thanks(?:\ for\ [\w\ ]+)?|wonderful|lovely|i\ see|makes\ sense|good\ choice|haha+|
    so|then|very\ well|yes|cool|nice|agreed|duly\ noted)[\s,.!:;—–-]+)+
    |^(?:(?:好的?(?:呀|啊|嘞|呢)?|明白了?|收到|了解了?|没问题|记(?:住|下)了?|知道了?|可以|行|嗯++|ok|已(?:更新|
    更正|修改|备注|记录|调整)(?:为|成)?|当然(?:可以)?|是的?|对|确认|那(?:就)?|哈哈+)[\s,.!:;、]+)+""",
    re.VERBOSE,
)
AGREES = worded(
    r"(?:sounds?|looks?|works?)\ (?:good|great|fine|perfect|right|ok(?:ay)?|for\ (?:me|us))|"
    r"let'?s\ do\ (?:that|it|this)|yes\ to\ (?:that|this|it)|(?:is|are|'s)\ (?:fine|good|great|perfect|"
    r"ok(?:ay)?)(?:\ (?:with|by|for)\ (?:me|us))?|fine\ by\ (?:me|us)|i\ like\ (?:that|it|the)|go\ (?:with|"
    r"for)\ (?:that|it)|happy\ with\ (?:that|it)|works|suits",
    r"(?:挺|很|蛮|都|也)?(?:不错|挺好|很好|可以|没问题|合适)(?:的|啊|呀|了|吧)?(?=[,.!]|$)|就(?:这么|"
    r"这样)(?:定|办|来)|听你的|按你说的",
)
QUALIFIES = compiled(
    r"(?:but|only\ |if\ |as\ long\ as|provided|unless|except|with\ the\ (?:exception|condition)|without|"
    r"on\ condition|不过|但是?|只要|除了|前提|只能|不能|如果|要是)",
    re.VERBOSE,
)
EMPHATIC = worded(r"yes|definitely|absolutely|please|deal|perfect|agreed", r"就这|定了|成交|同意|必须")
LINKS = compiled(
    r"(?:and\ (?!i\ |we\ )|or\ |nor\ |to\ |with\ |for\ |in\ |on\ |at\ |by\ |of\ |from\ |than\ |which|who|"
    r"whose|where|while|that\ |as\ |because|since|so\ that|not\ |then\ |instead\ |rather\ |like\ |including|"
    r"except|without|until|after|before|when|if|unless|even|especially|e\.g|i\.e|就|才|则|也|都|并|而|且|"
    r"还(?!是)|再|又|或|以及|和|跟|与|包括|比如|例如|即|否则|不然|其中|这|那|它|所以|因此|因为|但(?!是?我)|却|"
    r"反而|不是|是(?!的))",
    re.VERBOSE,
)
SUBJECT_VERB = compiled(
    r"(?:(?:but|so|and|though|because|since)\ )?(?:i|we|you|he|she|they|it|that|this|there|who|nobody|"
    r"everybody|someone|the\ (?:(?:\p{L}|['-])+\ ){1,3}?|my\ (?:(?:\p{L}|['-])+\ ){1,2}?|our\ (?:(?:\p{L}|['-])+\ ){1,2}?|"
    r"his\ (?:\p{L}|['-])+\ |her\ (?:\p{L}|['-])+\ |their\ (?:\p{L}|['-])+\ |\p{L}+\ )\s?(?:'s|'re|'m|'ll|'d|'ve|\ ?(?:is|"
    r"are|was|were|am|has|have|had|will|would|can|could|can't|cannot|won't|don't|doesn't|didn't|isn't|aren't|"
    r"wasn't|do|does|did|should|must|may|might|says?|said|thinks?|thought|wants?|needs?|goes|went|gets?|got|"
    r"makes?|made|takes?|took|comes?|came|knows?|keeps?|likes?|loves?|hates?|works?|costs?|looks?|"
    r"pays?))(?!\p{L})",
    re.VERBOSE,
)
POINTS = compiled(
    r"(?:he|she|it|they|that|this|there|those|these|it's|he's|she's|they're|that's|there's)(?!\p{L}|')|"
    r"[他她它]们?|[这那](?!个|些|种|样)",
    re.VERBOSE,
)
FORMERLY = worded(
    r"originally|used\ to|at\ first|i\ (?:first|had)|before(?=\ (?:that|it))|previously|earlier|initially|was\ going\ to|wanted",
    r"原来|本来|之前|以前|起初|一开始|最初|曾经",
)
TURNS_TO = compiled(
    r"换成|改成|改为|改用|换到|改到|还是用|\b(?:let's|switch(?:ing)? to|change(?:d)? (?:it )?to|go with|take|"
    r"use)\b",
    re.IGNORECASE,
)
DOES_THAT = worded(
    r"do\ (?:that|it|this)|(?:use|take|book|keep|add|include|try|make|want)\ (?:that|this|it|them|those)|"
    r"that\ (?:one|way)|same\ (?:for|here)",
    r"这么(?:办|做|来|定)|这样(?:办|做|来|定)|就它|照这个|都要",
)
REQUEST = compiled(
    r"^(?:(?:and|so|ok|also|then|hmm|oh|please)[\s,]+)*(?:can|could|would|will)\ (?:you|we)\ (?:please\ |"
    r"also\ |just\ |maybe\ )*(?:add|change|make|use|book|set|keep|put|move|remove|send|include|note|switch|"
    r"update|drop|rename|cancel|schedule|reserve|order|leave|stop|start|limit|write\ down|remember|"
    r"avoid)(?!\p{L})|^(?:麻烦|请|帮我|能不能|可以)(?:您|你)?(?:帮我)?(?:把|加|改|换|订|约|记|删|设|发|取消|"
    r"安排|备注)",
    re.VERBOSE,
)
REQUEST_LEAD = compiled(
    r"^(?:(?:and|so|ok|also|then|hmm|oh|please)[\s,]+)*(?:can|could|would|will)\ (?:you|we)\ (?:please\ |"
    r"also\ |just\ |maybe\ )*|^(?:麻烦|请|帮我|能不能|可以)(?:您|你)?(?:帮我)?",
    re.VERBOSE,
)
REFERENCE = worded(
    r"(?:ticket|order|booking|confirmation|reference|case|tracking|invoice|reservation|account|"
    r"customer)\ (?:number|no\.?|code|id)|reference|your\ (?:code|pin|ticket)",
    r"(?:订单|工单|预订|确认|快递|会员|案件|流水|票)号|编号|单号|验证码",
)
THIRD_PERSON = compiled(
    r"^(?:and\ |so\ |but\ )?(?:he|she|they|his|her|their|he's|she's|they're)(?!\p{L})|^(?:他|她|他们|她们|人家)"
)
NAMED_SPEECH = regex.compile(
    r"\b(?!I\b|We\b|You\b|It\b|That\b|This\b|What\b)\p{Lu}\p{Ll}+(?:\s\p{Lu}\p{Ll}+)?,?\s(?:he\s|"
    r"she\s)?(?:says|said|thinks|thought|wants|wanted|swears|suggests|suggested|recommends|recommended|keeps|"
    r"claims|insists|reckons|told\sme|would\s(?:love|like|prefer|rather)|'d\s)"
)
OWN_VOICE = compiled(
    r"(?:but\ |though\ |so\ |and\ )?(?:i|we|let's|i'm|we're|i'd|we'd|our|my|for\ us|please|don't|no)(?!\p{L})|"
    r"(?:但是?|不过|可是|所以|而)?(?:我|咱)|但|不过|可是",
    re.VERBOSE,
)
OVERRIDES_DOUBT = worded(
    r"(?:must|definitely|decided|let's|go(?:ing)?\ with|no\ matter|for\ sure|certainly|never|"
    r"under\ no\ circumstances|scrap|forget)",
    r"必须|一定要|决定|就(?:用|选|定|按)|务必|千万|绝对|肯定|还是.{1,12}吧|不考虑",
)
PAST_TALE = worded(
    r"yesterday|last\ (?:time|week|month|year|night)|years?\ ago|used\ to|when\ i\ was|back\ (?:then|in)|once\ (?:i|we)",
    r"昨[天晚]|上(?:次|周|个月)|去年|以前|小时候|当年|那时候",
)
PAST = worded(
    r"was|were|had|did|went|got|came|said|told|thought|used\ to|tried|asked|bought|took|made|saw|found|felt|"
    r"broke|happened|seemed|looked|lost|heard|knew|left|met|started|ended|turned\ out|\p{L}{3,}ed(?=\ (?:me|"
    r"us|my|our|the|a|an|it|him|her|them|him|at|in|on|to))",
    r"上(?:次|周|个月|回)|去年|以前|当时|那时|曾经?|刚才|昨天|\p{Han}过(?=[,.了]|$)",
)
ONLY = worded(
    r"only|just\ the|strictly|solely|nothing\ but|at\ most|always|each|every|never",
    r"只(?!是|不过)|仅|唯一|每|一律|统一|全部|都(?!是)",
)
THIRD = compiled(
    r"(?<!\p{L})(?:he|she|they|his|her|their|him|them|he's|she's|they're|he'll|she'll|they'll)(?!\p{L})|[他她](?!们?的话)",
    re.VERBOSE,
)
REASONS = compiled(
    r"(?:since|because|so\ (?:that|you|we)|as\ (?:it|that|this|you)|which|that\ way|it(?:'s|\ is)|they(?:'re|"
    r"\ are)|given|这样|因为|毕竟|比较|既|而且)",
    re.VERBOSE,
)
BARE_NO = compiled(
    r"^(?:(?:no(?:\ (?:thanks|thank\ you|way))?|nope|nah|naw|hmm+|not\ really|oh|uh|never|hard\ pass|pass|不|"
    r"不用|不要|不用了|别了|算了|不了|免了|不行|不是|不好|没必要|别)[\s]*[,.!;:，。！、-]+\s*)+|^(?:nah|nope|"
    r"naw)\s+",
    re.VERBOSE,
)
OR = compiled(r"\s+or\s+|,\s*or\s+|还是|或者?是?|\s+vs\.?\s+", re.IGNORECASE)
ORDINAL = compiled(
    r"(?P<first>(?<!\p{L})(?:the\ first(?=\ (?:one|option|plan|idea)|[\s,.!]*$)|the\ former|option\ (?:1|a|"
    r"one))(?!\p{L})|前者|第一(?:个|种|款|家|套))|(?P<second>(?<!\p{L})(?:the\ second(?=\ (?:one|option|plan|"
    r"idea)|[\s,.!]*$)|the\ latter|option\ (?:2|b|two))(?!\p{L})|后者|第二(?:个|种|款|家|套))|"
    r"(?P<third>(?<!\p{L})(?:the\ third(?=\ (?:one|option)|[\s,.!]*$)|option\ (?:3|c|three))(?!\p{L})|"
    r"第三(?:个|种|款|家|套))|(?P<last>(?<!\p{L})the\ last\ (?:one|option)(?!\p{L})|最后(?:一)?(?:个|种|款|家|"
    r"套))",
    re.VERBOSE,
)


@remembered(20_000)
def negated(text: str) -> bool:
    """Whether a folded text denies or excludes something; see (2)."""
    return NEGATES.search(without_harmless(text)) is not None


@remembered(20_000)
def excludes(text: str) -> bool:
    """Whether a folded text rules something out."""
    return EXCLUDES.search(without_harmless(text)) is not None


def without_harmless(text: str) -> str:
    """The text without negations that deny nothing."""
    return HARMLESS.sub(" · ", DOUBLE.sub(" · ", text))


@remembered(20_000)
def asks(text: str) -> bool:
    """Whether a folded sentence is a question."""
    return QUESTION_MARK.search(text) is not None or ASKING.search(text.rstrip(" .!~")) is not None
